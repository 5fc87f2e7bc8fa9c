/* SPDX-License-Identifier: LGPL-2.1-only */
/* Features of the processor, by CPUID. */
#ifndef COMPEL_CPU_H
#define COMPEL_CPU_H

#include <compel/asm/cpu.h>
#include <compel/common/compiler.h>
#include <stdbool.h>
#include <stdint.h>

COMPEL_BEGIN_C

/* Fills `info`, which must be zero before. Returns 0, or -1 for a processor that the library doesn't know. */
extern int compel_cpuid(compel_cpuinfo_t* info);
/* Returns whether this machine's processor has a feature; `feature` is its number in <compel/asm/cpu.h>. */
extern bool compel_cpu_has_feature(unsigned int feature);
/* Returns whether the processor has a component of the extended state; `feature` is XFEATURE_*. */
extern bool compel_fpu_has_feature(unsigned int feature);
/*
 * Return size of a component of the extended state and its offset in the standard form, in bytes; 0 for the first two.
 */
extern uint32_t compel_fpu_feature_size(unsigned int feature);
extern uint32_t compel_fpu_feature_offset(unsigned int feature);
/* Removes a feature from the library's copy in this process. compel_cpu_has_feature() then returns false. */
extern void compel_cpu_clear_feature(unsigned int feature);
extern void compel_cpu_copy_cpuinfo(compel_cpuinfo_t* info);

COMPEL_END_C

#endif
