// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it can't make system calls in such a process
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <fstream>
#include <sstream>

#include "zdtm.hpp"

namespace {

volatile char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
volatile int caught = 0;

void note(int, siginfo_t* info, void*) {
    caught = info->si_syscall;
}

// Returns the range of the mapping with libc's code.
std::pair<unsigned long, unsigned long> code_around(const void* address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long start = 0;
        unsigned long end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx", &start, &end) == 2 &&
            reinterpret_cast<unsigned long>(address) - start < end - start) {
            return {start, end - start};
        }
    }
    return {};
}

// Makes code outside of libc that calls the system call with the given number.
using Caller = long (*)(long);
Caller make_caller() {
    const auto page = zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE);
    const unsigned char code[] = {0x89, 0xf8, 0x0f, 0x05, 0xc3};
    std::memcpy(page.data(), code, sizeof(code));
    SYS(mprotect(page.data(), page.size(), PROT_READ | PROT_EXEC));
    return reinterpret_cast<Caller>(reinterpret_cast<std::uintptr_t>(page.data()));
}

}  // namespace

ZDTM("syscall user dispatch that blocks all system calls outside of libc") {
    struct sigaction action {};
    action.sa_sigaction = note;
    action.sa_flags = SA_SIGINFO;
    SYS(sigaction(SIGSYS, &action, nullptr));
    const Caller caller = make_caller();
    const auto [start, size] = code_around(reinterpret_cast<const void*>(&syscall));
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, start, size, &selector) == -1) {
        zdtm::skip("PR_SET_SYSCALL_USER_DISPATCH: %s", strerror(errno));
    }
    selector = SYSCALL_DISPATCH_FILTER_BLOCK;
    caller(SYS_getppid);
    CHECK(caught == SYS_getppid, "%d was caught", caught);
    me.wait_for_check();
    caller(SYS_getuid);
    CHECK(caught == SYS_getuid, "%d was caught", caught);
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    caught = 0;
    CHECK(caller(SYS_getpid) == getpid() && caught == 0, "%d was caught", caught);
}
