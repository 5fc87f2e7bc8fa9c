/* SPDX-License-Identifier: LGPL-2.1-only */
/* Bits of the flags register. */
#ifndef COMPEL_ASM_PROCESSOR_FLAGS_H
#define COMPEL_ASM_PROCESSOR_FLAGS_H

#define X86_EFLAGS_TF 0x00000100 /* single step */
#define X86_EFLAGS_IF 0x00000200 /* interrupts enabled */
#define X86_EFLAGS_DF 0x00000400 /* string instructions run to lower addresses */

#endif
