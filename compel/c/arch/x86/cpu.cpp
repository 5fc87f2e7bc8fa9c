// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/cpu.h>
#include <compel/log.h>
#include <cpuid.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct Leaf {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
};

Leaf leaf(unsigned number, unsigned sub = 0) {
    Leaf found;
    __cpuid_count(number, sub, found.eax, found.ebx, found.ecx, found.edx);
    return found;
}

/// CPU feature that each component of the extended state requires; the index is XFEATURE_*. A processor without the
/// feature doesn't have the component.
constexpr unsigned featureOf[XFEATURE_MAX] = {X86_FEATURE_FPU,     X86_FEATURE_XMM,     X86_FEATURE_AVX,
                                              X86_FEATURE_MPX,     X86_FEATURE_MPX,     X86_FEATURE_AVX512F,
                                              X86_FEATURE_AVX512F, X86_FEATURE_AVX512F, X86_FEATURE_INTEL_PT,
                                              X86_FEATURE_PKU,     X86_FEATURE_HDC};

void readName(compel_cpuinfo_t* info) {
    for (unsigned part = 0; part < 3; ++part) {
        const Leaf text = leaf(0x80000002 + part);
        memcpy(info->x86_model_id + 16 * part, &text, 16);
    }
    info->x86_model_id[48] = '\0';
    const size_t blanks = strspn(info->x86_model_id, " ");
    memmove(info->x86_model_id, info->x86_model_id + blanks, 49 - blanks);
}

void readSignature(compel_cpuinfo_t* info) {
    const Leaf signature = leaf(1);
    const unsigned family = signature.eax >> 8 & 0xf;
    info->x86_family = static_cast<std::uint8_t>(family == 0xf ? family + (signature.eax >> 20 & 0xff) : family);
    const unsigned model = signature.eax >> 4 & 0xf;
    info->x86_model = static_cast<std::uint8_t>(info->x86_family >= 6 ? model + (signature.eax >> 12 & 0xf0) : model);
    info->x86_mask = signature.eax & 0xf;
    info->x86_capability[CPUID_1_EDX] = signature.edx;
    info->x86_capability[CPUID_1_ECX] = signature.ecx;
}

void readBasic(compel_cpuinfo_t* info) {
    std::uint32_t* const words = info->x86_capability;
    const auto has = [&](int number) { return info->cpuid_level >= number; };
    info->x86_family = 4;
    if (has(1))
        readSignature(info);
    if (has(6))
        words[CPUID_6_EAX] = leaf(6).eax;
    if (has(7)) {
        const Leaf structured = leaf(7);
        words[CPUID_7_0_EBX] = structured.ebx;
        words[CPUID_7_0_ECX] = structured.ecx;
        words[CPUID_7_0_EDX] = structured.edx;
    }
    if (has(0xd))
        words[CPUID_D_1_EAX] = leaf(0xd, 1).eax;
    if (has(0xf)) {
        words[CPUID_F_0_EDX] = leaf(0xf).edx;
        if ((words[CPUID_F_0_EDX] & 2) != 0)  // bit 1: the processor has last level cache monitoring
            words[CPUID_F_1_EDX] = leaf(0xf, 1).edx;
    }
}

void readExtended(compel_cpuinfo_t* info) {
    std::uint32_t* const words = info->x86_capability;
    info->extended_cpuid_level = leaf(0x80000000).eax;
    if (info->extended_cpuid_level >> 16 != 0x8000)
        return;
    const auto has = [&](unsigned number) { return info->extended_cpuid_level >= number; };
    if (has(0x80000001)) {
        const Leaf features = leaf(0x80000001);
        words[CPUID_8000_0001_ECX] = features.ecx;
        words[CPUID_8000_0001_EDX] = features.edx;
    }
    if (has(0x80000004))
        readName(info);
    if (has(0x80000007)) {
        const Leaf power = leaf(0x80000007);
        words[CPUID_8000_0007_EBX] = power.ebx;
        info->x86_power = power.edx;
    }
    if (has(0x80000008))
        words[CPUID_8000_0008_EBX] = leaf(0x80000008).ebx;
    if (has(0x8000000a))
        words[CPUID_8000_000A_EDX] = leaf(0x8000000a).edx;
}

}  // namespace

extern "C" {

void compel_set_cpu_cap(compel_cpuinfo_t* info, unsigned int feature) {
    if (feature < NCAPINTS_BITS)
        info->x86_capability[feature / 32] |= 1u << feature % 32;
}

void compel_clear_cpu_cap(compel_cpuinfo_t* info, unsigned int feature) {
    if (feature < NCAPINTS_BITS)
        info->x86_capability[feature / 32] &= ~(1u << feature % 32);
}

int compel_test_cpu_cap(compel_cpuinfo_t* info, unsigned int feature) {
    return feature < NCAPINTS_BITS ? static_cast<int>(info->x86_capability[feature / 32] >> feature % 32 & 1) : 0;
}

int compel_test_fpu_cap(compel_cpuinfo_t* info, unsigned int feature) {
    return feature < XFEATURE_MAX ? static_cast<int>(info->xfeatures_mask & 1ull << feature) : 0;
}
}

namespace {

/// Sets features that no CPUID leaf reports. Clears features that CPUID reports wrongly.
void correct(compel_cpuinfo_t* info) {
    constexpr unsigned old3dNow = 31;  // bit of 3DNow! in word 0 of old processors; word 1 has the valid bit
    compel_set_cpu_cap(info, X86_FEATURE_CPUID);
    compel_set_cpu_cap(info, X86_FEATURE_NOPL);
    if (info->cpuid_level < 0xd)
        compel_clear_cpu_cap(info, X86_FEATURE_XSAVE);
    if (info->x86_vendor == X86_VENDOR_INTEL) {
        if (info->x86_family == 15) {
            compel_clear_cpu_cap(info, X86_FEATURE_REP_GOOD);
            compel_clear_cpu_cap(info, X86_FEATURE_ERMS);
        } else if (info->x86_family == 6) {
            compel_set_cpu_cap(info, X86_FEATURE_REP_GOOD);
        }
        return;
    }
    compel_clear_cpu_cap(info, old3dNow);
    const unsigned signature = leaf(1).eax;
    const bool fastOpteron = (signature >= 0x0f48 && signature < 0x0f50) || signature >= 0x0f58;
    if (info->x86_family >= 0x10 || (info->x86_family == 0xf && fastOpteron))
        compel_set_cpu_cap(info, X86_FEATURE_REP_GOOD);
}

void setComponent(compel_cpuinfo_t* info, unsigned feature, std::uint32_t offset, std::uint32_t size) {
    info->xstate_offsets[feature] = info->xstate_comp_offsets[feature] = offset;
    info->xstate_sizes[feature] = info->xstate_comp_sizes[feature] = size;
}

/// Sets the offsets of components in the compacted form of XSAVE. In this form, each component follows the one before
/// it; some are aligned to 64 bytes.
void placeCompacted(compel_cpuinfo_t* info) {
    std::uint32_t next = FXSAVE_SIZE + XSAVE_HDR_SIZE;
    for (unsigned feature = FIRST_EXTENDED_XFEATURE; feature < XFEATURE_MAX; ++feature) {
        const bool present = (info->xfeatures_mask >> feature & 1) != 0;
        if (feature != FIRST_EXTENDED_XFEATURE && (leaf(XSTATE_CPUID, feature).ecx & 2) != 0)
            next = (next + 63) & ~63u;
        info->xstate_comp_offsets[feature] = next;
        info->xstate_comp_sizes[feature] = present ? info->xstate_sizes[feature] : 0;
        next += info->xstate_comp_sizes[feature];
    }
}

int readState(compel_cpuinfo_t* info) {
    if (compel_test_cpu_cap(info, X86_FEATURE_FPU) == 0) {
        compel_print_on_level(COMPEL_LOG_ERROR, "the processor has no floating point unit\n");
        return -1;
    }
    if (compel_test_cpu_cap(info, X86_FEATURE_XSAVE) == 0)
        return 0;
    const Leaf sizes = leaf(XSTATE_CPUID);
    info->xfeatures_mask = sizes.eax | std::uint64_t{sizes.edx} << 32;
    if ((info->xfeatures_mask & XFEATURE_MASK_FPSSE) != XFEATURE_MASK_FPSSE) {
        compel_print_on_level(COMPEL_LOG_ERROR, "the processor's extended state lacks x87 or SSE registers\n");
        return -1;
    }
    for (unsigned feature = 0; feature < XFEATURE_MAX; ++feature)
        if (compel_test_cpu_cap(info, featureOf[feature]) == 0)
            info->xfeatures_mask &= ~(std::uint64_t{1} << feature);
    info->xfeatures_mask &= XFEATURE_MASK_USER;
    info->xsave_size = sizes.ebx;
    info->xsave_size_max = sizes.ecx;
    info->xsaves_size = leaf(XSTATE_CPUID, 1).ebx;

    constexpr std::uint32_t none = ~std::uint32_t{0};
    for (unsigned feature = 0; feature < XFEATURE_MAX; ++feature)
        setComponent(info, feature, none, none);
    constexpr std::uint32_t sse = offsetof(i387_fxsave_struct, xmm_space);
    setComponent(info, XFEATURE_FP, 0, sse);
    setComponent(info, XFEATURE_SSE, sse, sizeof(i387_fxsave_struct::xmm_space));
    for (unsigned feature = FIRST_EXTENDED_XFEATURE; feature < XFEATURE_MAX; ++feature) {
        if ((info->xfeatures_mask >> feature & 1) == 0)
            continue;
        const Leaf place = leaf(XSTATE_CPUID, feature);
        const bool ofKernel = (place.ecx & 1) != 0;  // a supervisor component has no offset in the standard form
        setComponent(info, feature, ofKernel ? none : place.ebx, place.eax);
    }
    if (compel_test_cpu_cap(info, X86_FEATURE_XSAVES) != 0)
        placeCompacted(info);
    return 0;
}

struct Processor {
    compel_cpuinfo_t info = {};
    bool known = false;
};

/// Returns the library's copy of this processor's features, from which compel_cpu_clear_feature() removes features.
/// Reads CPUID only once, because a hypervisor traps each CPUID instruction.
compel_cpuinfo_t* ours() {
    static Processor processor;
    if (!processor.known) {
        processor.known = true;
        compel_cpuid(&processor.info);
    }
    return &processor.info;
}

bool isExtended(unsigned feature) {
    return feature >= FIRST_EXTENDED_XFEATURE && feature < XFEATURE_MAX;
}

}  // namespace

extern "C" {

int compel_cpuid(compel_cpuinfo_t* info) {
    const Leaf first = leaf(0);
    const unsigned vendor[] = {first.ebx, first.edx, first.ecx};
    info->cpuid_level = static_cast<int>(first.eax);
    memcpy(info->x86_vendor_id, vendor, sizeof(vendor));
    const auto is = [&](const char* name) { return memcmp(vendor, name, sizeof(vendor)) == 0; };
    if (is("GenuineIntel")) {
        info->x86_vendor = X86_VENDOR_INTEL;
    } else if (is("AuthenticAMD") || is("HygonGenuine")) {
        info->x86_vendor = X86_VENDOR_AMD;
    } else {
        compel_print_on_level(COMPEL_LOG_ERROR, "the processor is from an unknown vendor: %.12s\n",
                              reinterpret_cast<const char*>(vendor));
        return -1;
    }
    readBasic(info);
    readExtended(info);
    correct(info);
    return readState(info);
}

bool compel_cpu_has_feature(unsigned int feature) {
    return compel_test_cpu_cap(ours(), feature) != 0;
}

bool compel_fpu_has_feature(unsigned int feature) {
    return compel_test_fpu_cap(ours(), feature) != 0;
}

std::uint32_t compel_fpu_feature_size(unsigned int feature) {
    return isExtended(feature) ? ours()->xstate_sizes[feature] : 0;
}

std::uint32_t compel_fpu_feature_offset(unsigned int feature) {
    return isExtended(feature) ? ours()->xstate_offsets[feature] : 0;
}

void compel_cpu_clear_feature(unsigned int feature) {
    compel_clear_cpu_cap(ours(), feature);
}

void compel_cpu_copy_cpuinfo(compel_cpuinfo_t* info) {
    *info = *ours();
}
}
