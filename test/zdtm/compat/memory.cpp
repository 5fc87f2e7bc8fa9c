// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include <ctime>

#include "zdtm.hpp"

ZDTM("memory of a 32-bit program: content, the break, new mappings, the vDSO and its address in the auxiliary vector") {
    constexpr std::size_t size = 3 << 20;
    const std::span<std::byte> memory = zdtm::map(size);
    zdtm::fill(memory, 1);
    auto* const end = static_cast<char*>(sbrk(0));
    const unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
    const unsigned long entry = getauxval(AT_SYSINFO);
    timespec before{};
    SYS(clock_gettime(CLOCK_MONOTONIC, &before));
    const std::string vector = zdtm::read_file("/proc/self/auxv");
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the content changed");
    CHECK(sbrk(0) == end, "the break is %p, was %p", sbrk(0), end);
    SYS(sbrk(65536));
    memset(end, 5, 65536);
    // The kernel must still return addresses that 32 bits can hold.
    for (int round = 0; round < 64; ++round) {
        const std::span<std::byte> more = zdtm::map(1 << 20);
        zdtm::fill(more, 2);
        CHECK(zdtm::first_difference(more, 2) < 0, "new memory at %p", static_cast<void*>(more.data()));
    }
    void* const moved = mremap(memory.data(), size, 4 * size, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED, "mremap: %s", strerror(errno));
    CHECK(zdtm::first_difference({static_cast<std::byte*>(moved), size}, 1) < 0, "the content changed in the move");

    CHECK(getauxval(AT_SYSINFO_EHDR) == vdso && getauxval(AT_SYSINFO) == entry, "vDSO at %#lx", vdso);
    CHECK(zdtm::read_file("/proc/self/auxv") == vector, "the auxiliary vector changed");
    CHECK(memcmp(reinterpret_cast<void*>(vdso), "\177ELF\1", 5) == 0, "no 32-bit ELF file at %#lx", vdso);
    timespec now{};
    SYS(clock_gettime(CLOCK_MONOTONIC, &now));
    CHECK(now.tv_sec > before.tv_sec || (now.tv_sec == before.tv_sec && now.tv_nsec > before.tv_nsec),
          "time goes backwards: %ld, %ld", static_cast<long>(before.tv_sec), static_cast<long>(now.tv_sec));
    long pid = SYS_getpid;
    asm volatile("call *%1" : "+a"(pid) : "r"(entry) : "memory");
    CHECK(pid == getpid(), "by the vDSO's entry: %ld", pid);
    timespec by_kernel{};
    SYS(syscall(SYS_clock_gettime64, CLOCK_MONOTONIC, &by_kernel));
}
