/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Linker script for a blob of the C interface: the code comes first, and the writable data begins at the start of a
 * page, which has 64 KiB on some kernels. The linker resolves all references except addresses in data, of which
 * `compel hgen` makes a table.
 */
OUTPUT_FORMAT(elf64-littleaarch64)
EXTERN(__export_parasite_head_start)
ENTRY(__export_parasite_head_start)

PHDRS
{
    code PT_LOAD FLAGS(5);
    data PT_LOAD FLAGS(6);
    linker PT_LOAD FLAGS(4);
    dynamic PT_DYNAMIC FLAGS(4);
}

SECTIONS
{
    . = 0;
    .text : {
        KEEP(*(.head.text))
        *(.text .text.*)
    } :code
    .data : ALIGN(65536) {
        *(.data .data.*)
        *(.rodata .rodata.*)
        KEEP(*(.compel.init))
        KEEP(*(.compel.exit))
        *(.got .got.plt)
        *(.bss .bss.* COMMON)
    } :data
    .rela.dyn : { *(.rela .rela.*) } :linker
    .dynamic : { *(.dynamic) } :linker :dynamic
    .linker : { *(.dynsym .dynstr .hash .gnu.hash .interp .gnu.version*) } :linker
    /DISCARD/ : { *(.comment .note .note.* .eh_frame .eh_frame_hdr .gnu.lto_*) }
}

ASSERT(DEFINED(__export_parasite_head_start), "the blob has no start: link it with the libraries of `compel plugins`")
