// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five
// zdtm: between perl -0777 -pi -e 's/(\x7fELF\x01.{8186})./$1Z/s or die if $ARGV =~ /pages-/' images/pages-*.img
// zdtm: ignore map .*
// The command between dump and restore changes the vDSO in the image, as if another kernel had made it.
#include <sys/auxv.h>
#include <sys/syscall.h>

#include <ctime>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
volatile sig_atomic_t calls = 0;

void count(int) {
    calls = calls + 1;
}
}  // namespace

ZDTM(
    "a 32-bit program on a kernel with another vDSO: calls through the vDSO, handlers, a call that the dump "
    "interrupts") {
    signal(SIGUSR1, count);
    const auto entry = getauxval(AT_SYSINFO);
    zdtm::Threads threads(
        2, [](unsigned) {}, [](unsigned) { SYS(getppid()); });
    me.wait_for_check();

    timespec before{};
    timespec after{};
    SYS(clock_gettime(CLOCK_MONOTONIC, &before));
    SYS(syscall(SYS_clock_gettime64, CLOCK_MONOTONIC, &after));
    CHECK(getauxval(AT_SYSINFO) == entry, "the entry moved");
    long pid = SYS_getpid;
    asm volatile("call *%1" : "+a"(pid) : "r"(entry) : "memory");
    CHECK(pid == getpid(), "by the vDSO's entry: %ld", pid);
    raise(SIGUSR1);
    raise(SIGUSR1);
    CHECK(calls == 2, "%d calls of the handler", calls);
    threads.finish();
}
