// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor x86
#include <asm/prctl.h>
#include <sys/syscall.h>

#include <array>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
struct Registers {
    std::uint64_t general[11];
    std::uint64_t flags;
};

// Loads registers, spins until the flag is set, and stores them. The loop has no other copy of the values.
// %rdi is the address of the flag. %rsi is the address of `values`, which the code reads and then writes.
void spin(Registers& values, const std::atomic<int>& flag) {
    asm volatile(
        "mov 0(%%rsi), %%rax\n mov 8(%%rsi), %%rbx\n mov 16(%%rsi), %%rcx\n mov 24(%%rsi), %%rdx\n"
        "mov 32(%%rsi), %%r8\n mov 40(%%rsi), %%r9\n mov 48(%%rsi), %%r10\n mov 56(%%rsi), %%r12\n"
        "mov 64(%%rsi), %%r13\n mov 72(%%rsi), %%r14\n mov 80(%%rsi), %%r15\n"
        "std\n"
        "1: pause\n cmpl $0, (%%rdi)\n je 1b\n"
        "mov %%rax, 0(%%rsi)\n mov %%rbx, 8(%%rsi)\n mov %%rcx, 16(%%rsi)\n mov %%rdx, 24(%%rsi)\n"
        "mov %%r8, 32(%%rsi)\n mov %%r9, 40(%%rsi)\n mov %%r10, 48(%%rsi)\n mov %%r12, 56(%%rsi)\n"
        "mov %%r13, 64(%%rsi)\n mov %%r14, 72(%%rsi)\n mov %%r15, 80(%%rsi)\n"
        "lea -128(%%rsp), %%rsp\n pushfq\n pop 88(%%rsi)\n lea 128(%%rsp), %%rsp\n"
        "cld\n"
        :
        : "S"(&values), "D"(&flag)
        : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r12", "r13", "r14", "r15", "memory", "cc");
}

constexpr std::uint64_t direction_flag = 1 << 10;
}  // namespace

ZDTM("general registers, the direction flag and the GS base of spinning threads") {
    zdtm::Threads threads(4, [](unsigned index, zdtm::Threads& all) {
        Registers values{};
        zdtm::fill(std::as_writable_bytes(std::span(values.general)), index);
        std::uint64_t data = 0;
        SYS(syscall(SYS_arch_prctl, ARCH_SET_GS, &data));
        all.arrive();
        spin(values, all.released());
        CHECK(zdtm::first_difference(std::as_bytes(std::span(values.general)), index) < 0, "a register changed");
        CHECK((values.flags & direction_flag) != 0, "flags 0x%lx", values.flags);
        std::uint64_t* base = nullptr;
        SYS(syscall(SYS_arch_prctl, ARCH_GET_GS, &base));
        CHECK(base == &data, "the GS base is %p", static_cast<void*>(base));
    });
    me.wait_for_check();
    threads.finish();
}
