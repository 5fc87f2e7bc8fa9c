// SPDX-License-Identifier: LGPL-2.1-only
// Features of the processor. The library needs none, so the description is empty and no feature is present.
#include <compel/cpu.h>

#include <cstdint>

extern "C" {

int compel_cpuid(compel_cpuinfo_t* /*info*/) {
    return 0;
}

void compel_set_cpu_cap(compel_cpuinfo_t* /*info*/, unsigned int /*feature*/) {}

void compel_clear_cpu_cap(compel_cpuinfo_t* /*info*/, unsigned int /*feature*/) {}

int compel_test_cpu_cap(compel_cpuinfo_t* /*info*/, unsigned int /*feature*/) {
    return 0;
}

int compel_test_fpu_cap(compel_cpuinfo_t* /*info*/, unsigned int /*feature*/) {
    return 0;
}

bool compel_cpu_has_feature(unsigned int /*feature*/) {
    return false;
}

bool compel_fpu_has_feature(unsigned int /*feature*/) {
    return false;
}

std::uint32_t compel_fpu_feature_size(unsigned int /*feature*/) {
    return 0;
}

std::uint32_t compel_fpu_feature_offset(unsigned int /*feature*/) {
    return 0;
}

void compel_cpu_clear_feature(unsigned int /*feature*/) {}

void compel_cpu_copy_cpuinfo(compel_cpuinfo_t* info) {
    *info = {};
}
}
