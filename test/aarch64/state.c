// SPDX-License-Identifier: GPL-2.0-only
// Keeps state that only aarch64 has, over a dump and a restore: the vector length of SVE, signed pointers, the setting
// for tagged addresses, and memory with PROT_BTI; with a third argument, SVE registers too. Writes "ready" to the file
// READY, then waits until the file GO exists. Exit status 0 means that all state is unchanged; other values say which
// isn't.
// usage: state READY GO [sve]
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char* go;

static int waits(void) {
    return access(go, F_OK) != 0;
}

/* Signs or checks a pointer with key A and the modifier 42; the instructions do nothing on processors without keys. */
static uint64_t sign(uint64_t pointer) {
    register uint64_t value __asm__("x17") = pointer;
    register uint64_t modifier __asm__("x16") = 42;
    __asm__("hint #8" : "+r"(value) : "r"(modifier));
    return value;
}

static uint64_t authenticate(uint64_t pointer) {
    register uint64_t value __asm__("x17") = pointer;
    register uint64_t modifier __asm__("x16") = 42;
    __asm__("hint #12" : "+r"(value) : "r"(modifier));
    return value;
}

/* Fills SVE registers, spins until `flag` isn't 0, and stores the registers. */
__attribute__((noinline)) static void hold(const uint8_t* pattern, uint8_t* found, const volatile uint8_t* flag) {
    __asm__ volatile(
        ".arch armv8.2-a+sve\n\t"
        "ldr z3, [%0]\n\t"
        "ldr z31, [%0, #1, mul vl]\n\t"
        "ptrue p5.b\n\t"
        "1: ldrb w9, [%2]\n\t"
        "yield\n\t"
        "cbz w9, 1b\n\t"
        "mov z4.b, #0\n\t"
        "mov z4.b, p5/m, z3.b\n\t"
        "str z4, [%1]\n\t"
        "str z31, [%1, #1, mul vl]\n\t" ::"r"(pattern),
        "r"(found), "r"(flag)
        : "memory", "x9", "v3", "v4", "v31");
}

/* Returns 1 if the memory at `address` has PROT_BTI: the kernel shows it as "bt" in the line VmFlags. */
static int is_guarded(const void* address) {
    FILE* const file = fopen("/proc/self/smaps", "r");
    char line[512];
    int inside = 0;
    int guarded = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            inside = start <= (unsigned long)address && (unsigned long)address < end;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            guarded = strstr(line, " bt") != NULL;
    }
    if (file != NULL)
        fclose(file);
    return guarded;
}

static volatile uint8_t ends;

static void* watch(void* unused) {
    while (waits())
        usleep(20000);
    ends = 1;
    return unused;
}

int main(int count, char** words) {
    static uint8_t pattern[512];
    static uint8_t found[512];
    if (count != 3 && count != 4)
        return 99;
    go = words[2];
    const int has_sve = (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
    if (has_sve)
        prctl(PR_SVE_SET_VL, 64);
    const int length = has_sve ? prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK : 0;
    prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE, 0, 0, 0);
    const int tagged = prctl(PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0);
    prctl(PR_PAC_RESET_KEYS, 0, 0, 0, 0);
    const uint64_t pointer = (uintptr_t)&found;
    const volatile uint64_t is_signed = sign(pointer);
    for (unsigned i = 0; i < sizeof(pattern); ++i)
        pattern[i] = (uint8_t)(i * 7 + 1);
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) != 0)
        return 98;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* const code = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code[0] = 1; /* the first page has content, and the second has none */
    const int has_bti = (getauxval(AT_HWCAP2) & HWCAP2_BTI) != 0;
    mprotect(code, page, PROT_READ | PROT_EXEC | (has_bti ? PROT_BTI : 0));
    mprotect(code + page, page, PROT_READ | (has_bti ? PROT_BTI : 0));
    if (is_guarded(code) != has_bti || is_guarded(code + page) != has_bti)
        return 96;
    FILE* const ready = fopen(words[1], "w");
    if (ready == NULL)
        return 97;
    fprintf(ready, "ready, vectors of %d bytes, %s pointers, %s code\n", length,
            is_signed != pointer ? "signed" : "plain", has_bti ? "guarded" : "plain");
    fclose(ready);
    const int holds = has_sve && count == 4;
    if (holds)
        hold(pattern, found, &ends);
    pthread_join(thread, NULL);
    if (holds && memcmp(pattern, found, 2 * (unsigned)length) != 0)
        return 1;
    if (has_sve && (prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK) != length)
        return 2;
    if (authenticate(is_signed) != pointer || sign(pointer) != is_signed)
        return 3;
    if (prctl(PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0) != tagged || tagged != PR_TAGGED_ADDR_ENABLE)
        return 4;
    if (is_guarded(code) != has_bti || is_guarded(code + page) != has_bti || code[0] != 1)
        return 5;
    return 0;
}
