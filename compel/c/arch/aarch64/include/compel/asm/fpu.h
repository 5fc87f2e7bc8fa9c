/* SPDX-License-Identifier: LGPL-2.1-only */
/* Floating point registers: see <compel/asm/infect-types.h>. */
#ifndef COMPEL_ASM_FPU_H
#define COMPEL_ASM_FPU_H

#endif
