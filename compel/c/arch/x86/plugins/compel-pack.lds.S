/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A blob of the C interface: code, then writable data from a page's start on. The linker resolves all references
 * except for addresses in data; `compel hgen` makes a table of these.
 */
OUTPUT_FORMAT(elf64-x86-64)
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
    .data : ALIGN(4096) {
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
