/* SPDX-License-Identifier: LGPL-2.1-only */
/* Relocation: a value in a blob that depends on the blob's address. `compel hgen` writes tables of relocations. */
#ifndef COMPEL_HANDLE_ELF_H
#define COMPEL_HANDLE_ELF_H

#define COMPEL_TYPE_INT (1u << 0)  /* the value has 32 bits: address of the blob + value + addend */
#define COMPEL_TYPE_LONG (1u << 1) /* the value has 64 bits: address of the blob + value + addend */
#define COMPEL_TYPE_GOTPCREL \
    (1u << 2) /* with COMPEL_TYPE_LONG: 32 bits, distance to a new GOT entry that has address + value */

typedef struct {
    unsigned int offset; /* offset in the blob */
    unsigned int type;   /* COMPEL_TYPE_* */
    long addend;
    long value;
} compel_reloc_t;

#endif
