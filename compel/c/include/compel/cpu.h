/* SPDX-License-Identifier: LGPL-2.1-only */
/* Queries the features of the processor (CPUID). */
#ifndef COMPEL_CPU_H
#define COMPEL_CPU_H

#include <compel/asm/cpu.h>
#include <compel/common/compiler.h>
#include <stdbool.h>
#include <stdint.h>

COMPEL_BEGIN_C

/* Fills `info`, whose bytes must be zero. Returns 0, or -1 for a processor that the library doesn't know. */
extern int compel_cpuid(compel_cpuinfo_t* info);
/* Returns true if this machine's processor has a feature. `feature`: number of the feature in <compel/asm/cpu.h>. */
extern bool compel_cpu_has_feature(unsigned int feature);
/* Returns true if the processor has a component of the extended state. `feature`: XFEATURE_* of the component. */
extern bool compel_fpu_has_feature(unsigned int feature);
/*
 * Returns the size of a component of the extended state in bytes. compel_fpu_feature_offset() returns the component's
 * offset in the standard form. Both return 0 for XFEATURE_FP and XFEATURE_SSE.
 */
extern uint32_t compel_fpu_feature_size(unsigned int feature);
extern uint32_t compel_fpu_feature_offset(unsigned int feature);
/* Removes a feature from the library's copy of the features, so that compel_cpu_has_feature() returns false. */
extern void compel_cpu_clear_feature(unsigned int feature);
extern void compel_cpu_copy_cpuinfo(compel_cpuinfo_t* info);

COMPEL_END_C

#endif
