/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the processor offers, by CPUID. */
#ifndef COMPEL_CPU_H
#define COMPEL_CPU_H

#include <compel/asm/cpu.h>
#include <compel/common/compiler.h>
#include <stdbool.h>
#include <stdint.h>

COMPEL_BEGIN_C

/* Fills `info`, which has to be zero before. 0, or -1 for a processor that the library doesn't know. */
extern int compel_cpuid(compel_cpuinfo_t* info);
/* Of this machine's processor; `feature`: its number in <compel/asm/cpu.h>. */
extern bool compel_cpu_has_feature(unsigned int feature);
/* `feature`: XFEATURE_*, a component of the extended state. */
extern bool compel_fpu_has_feature(unsigned int feature);
/* Bytes of a component of the extended state, and where it begins in the standard form; 0 for the first two. */
extern uint32_t compel_fpu_feature_size(unsigned int feature);
extern uint32_t compel_fpu_feature_offset(unsigned int feature);
/* From now on this process takes the processor for one without it. */
extern void compel_cpu_clear_feature(unsigned int feature);
extern void compel_cpu_copy_cpuinfo(compel_cpuinfo_t* info);

COMPEL_END_C

#endif
