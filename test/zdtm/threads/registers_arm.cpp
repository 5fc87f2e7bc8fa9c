// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor aarch64
#include <array>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
struct Registers {
    std::uint64_t general[26];
    std::uint64_t flags;
};

constexpr std::uint64_t kFlags = 0xa0000000;  // N and C of the register NZCV

// Loads registers, spins until the flag is set, and stores them. The loop changes no flags, and has no other copy of
// the values. x0 is the address of `values`, which the code reads and then writes. x1 is the address of the flag, and
// x2 is free. x18 and x29 belong to the compiler.
void spin(Registers& values, const std::atomic<int>& flag) {
    register Registers* place asm("x0") = &values;
    register const std::atomic<int>* go asm("x1") = &flag;
    asm volatile(
        "mov x2, #0xa0000000\n msr nzcv, x2\n"
        ".irp n,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n ldr x\\n, [x0, #8*(\\n-3)]\n .endr\n"
        ".irp n,19,20,21,22,23,24,25,26,27,28\n ldr x\\n, [x0, #8*(\\n-4)]\n .endr\n"
        "ldr x30, [x0, #8*25]\n"
        "1: yield\n ldr w2, [x1]\n cbz w2, 1b\n"
        ".irp n,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n str x\\n, [x0, #8*(\\n-3)]\n .endr\n"
        ".irp n,19,20,21,22,23,24,25,26,27,28\n str x\\n, [x0, #8*(\\n-4)]\n .endr\n"
        "str x30, [x0, #8*25]\n"
        "mrs x2, nzcv\n str x2, [x0, %[flags]]\n"
        : "+r"(place), "+r"(go)
        : [flags] "i"(offsetof(Registers, flags))
        : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x19",
          "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "memory", "cc");
}
}  // namespace

ZDTM("general registers and condition flags of spinning threads") {
    zdtm::Threads threads(4, [](unsigned index, zdtm::Threads& all) {
        Registers values{};
        zdtm::fill(std::as_writable_bytes(std::span(values.general)), index);
        all.arrive();
        spin(values, all.released());
        CHECK(zdtm::first_difference(std::as_bytes(std::span(values.general)), index) < 0, "a register changed");
        CHECK(values.flags == kFlags, "flags 0x%lx", values.flags);
    });
    me.wait_for_check();
    threads.finish();
}
