// SPDX-License-Identifier: GPL-2.0-only
// Gets into a state that criu refuses to dump, and stays there. Creates the file READY shortly before. Exit status 77
// means that processor or kernel don't have this state.
// usage: refused READY memory-tags|matrix|streaming|32-bit
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MISSING = 77 };
static const unsigned long has_memory_tags = 1UL << 18; /* HWCAP2_MTE of asm/hwcap.h */
static const unsigned long has_matrix = 1UL << 23;      /* HWCAP2_SME */
static const int with_tags = 0x20;                      /* PROT_MTE of asm/mman.h */

static const char* ready;

static int has(unsigned long feature) {
    return (getauxval(AT_HWCAP2) & feature) != 0;
}

static void tell(void) {
    close(open(ready, O_CREAT | O_WRONLY, 0600));
}

static int use_memory_tags(void) {
    if (!has(has_memory_tags))
        return MISSING;
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE | with_tags, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        return 1;
    tell();
    for (;;)
        pause();
}

/* The contents of the matrix register outlast system calls. */
static int use_matrix(void) {
    if (!has(has_matrix))
        return MISSING;
    __asm__ volatile(".inst 0xd503457f" ::: "memory"); /* smstart za */
    tell();
    for (;;)
        pause();
}

/* A system call ends streaming mode. */
static int use_streaming(void) {
    if (!has(has_matrix))
        return MISSING;
    tell();
    __asm__ volatile(
        ".inst 0xd503437f\n" /* smstart sm */
        "1: b 1b" ::
            : "memory");
    return 1;
}

/* Executes a program of three 32-bit instructions: a loop around pause(2). */
static int use_32_bit(void) {
    static const struct {
        uint8_t ident[16];
        uint16_t type, machine;
        uint32_t version, entry, segments_at, sections_at, flags;
        uint16_t size, segment_size, segments, section_size, sections, names;
        uint32_t segment_type, offset, address, physical, file_size, memory_size, protection, alignment;
        uint32_t code[3];
    } program = {.ident = {0x7f, 'E', 'L', 'F', 1, 1, 1},
                 .type = 2,     /* ET_EXEC */
                 .machine = 40, /* EM_ARM */
                 .version = 1,
                 .entry = 0x10000 + 52 + 32,
                 .segments_at = 52,
                 .flags = 0x05000000, /* EF_ARM_EABI_VER5 */
                 .size = 52,
                 .segment_size = 32,
                 .segments = 1,
                 .section_size = 40,
                 .segment_type = 1, /* PT_LOAD */
                 .address = 0x10000,
                 .physical = 0x10000,
                 .file_size = sizeof(program),
                 .memory_size = sizeof(program),
                 .protection = 5, /* PF_R | PF_X */
                 .alignment = 0x1000,
                 .code = {0xe3a0701d, 0xef000000, 0xeafffffc}}; /* mov r7, #29; svc #0; b */
    char path[256];
    snprintf(path, sizeof(path), "%s.program", ready);
    const int fd = open(path, O_CREAT | O_WRONLY, 0700);
    if (write(fd, &program, sizeof(program)) != (ssize_t)sizeof(program) || close(fd) != 0)
        return 1;
    tell();
    execl(path, path, NULL);
    unlink(ready);
    return MISSING;
}

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    ready = argv[1];
    if (strcmp(argv[2], "memory-tags") == 0)
        return use_memory_tags();
    if (strcmp(argv[2], "matrix") == 0)
        return use_matrix();
    if (strcmp(argv[2], "streaming") == 0)
        return use_streaming();
    return use_32_bit();
}
