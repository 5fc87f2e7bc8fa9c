/* SPDX-License-Identifier: LGPL-2.1-only */
/* Bits of the flags register: the library uses none of this processor. */
#ifndef COMPEL_ASM_PROCESSOR_FLAGS_H
#define COMPEL_ASM_PROCESSOR_FLAGS_H

#endif
