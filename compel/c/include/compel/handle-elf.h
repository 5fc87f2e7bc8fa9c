/* SPDX-License-Identifier: LGPL-2.1-only */
/* A value in a blob that depends on the blob's address. `compel hgen` writes tables of these. */
#ifndef COMPEL_HANDLE_ELF_H
#define COMPEL_HANDLE_ELF_H

#define COMPEL_TYPE_INT (1u << 0)  /* 32 bits: address + value + addend */
#define COMPEL_TYPE_LONG (1u << 1) /* 64 bits: address + value + addend */
#define COMPEL_TYPE_GOTPCREL \
    (1u << 2) /* with LONG: 32 bits, the distance to a new entry of the GOT with address + value */

typedef struct {
    unsigned int offset; /* offset in the blob */
    unsigned int type;   /* COMPEL_TYPE_* */
    long addend;
    long value;
} compel_reloc_t;

#endif
