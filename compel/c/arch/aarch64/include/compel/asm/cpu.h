/* SPDX-License-Identifier: LGPL-2.1-only */
/* Description of the processor: empty for this one, because the library needs none of its features. */
#ifndef COMPEL_ASM_CPU_H
#define COMPEL_ASM_CPU_H

typedef struct {
    char unused[1];
} compel_cpuinfo_t;

#endif
