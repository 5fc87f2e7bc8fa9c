// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor x86
#include <array>
#include <cfenv>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
// Loads the register stack, spins, and stores it. %rdi is the address of the flag.
void spin(std::array<long double, 8>& values, const std::atomic<int>& flag) {
    asm volatile(
        "fldt 0(%%rsi)\n fldt 16(%%rsi)\n fldt 32(%%rsi)\n fldt 48(%%rsi)\n"
        "fldt 64(%%rsi)\n fldt 80(%%rsi)\n fldt 96(%%rsi)\n fldt 112(%%rsi)\n"
        "1: pause\n cmpl $0, (%%rdi)\n je 1b\n"
        "fstpt 112(%%rsi)\n fstpt 96(%%rsi)\n fstpt 80(%%rsi)\n fstpt 64(%%rsi)\n"
        "fstpt 48(%%rsi)\n fstpt 32(%%rsi)\n fstpt 16(%%rsi)\n fstpt 0(%%rsi)\n"
        :
        : "S"(values.data()), "D"(&flag)
        : "memory", "cc", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)");
}
}  // namespace

ZDTM("the x87 register stack, rounding modes and exception flags") {
    constexpr std::array modes{FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    zdtm::Threads threads(4, [&](unsigned index, zdtm::Threads& all) {
        fesetround(modes[index]);
        feclearexcept(FE_ALL_EXCEPT);
        if (index % 2 == 0) {
            feraiseexcept(FE_DIVBYZERO);
        }
        unsigned mxcsr = 0;
        asm volatile("stmxcsr %0" : "=m"(mxcsr));
        const unsigned flush_to_zero = mxcsr | (1U << 15);
        asm volatile("ldmxcsr %0" : : "m"(flush_to_zero));
        std::array<long double, 8> values{};
        for (unsigned i = 0; i < values.size(); ++i) {
            values[i] = static_cast<long double>(index * 100 + i) / 7;
        }
        std::array<long double, 8> expected = values;
        unsigned short control_before = 0;
        asm volatile("fnstcw %0" : "=m"(control_before));
        all.arrive();
        spin(values, all.released());
        unsigned short control = 0;
        asm volatile("fnstcw %0" : "=m"(control));
        asm volatile("stmxcsr %0" : "=m"(mxcsr));
        CHECK(control == control_before, "control word was 0x%x, is 0x%x", control_before, control);
        CHECK(mxcsr == flush_to_zero, "MXCSR was 0x%x, is 0x%x", flush_to_zero, mxcsr);
        CHECK(fegetround() == modes[index], "rounding mode %d", fegetround());
        CHECK((fetestexcept(FE_DIVBYZERO) != 0) == (index % 2 == 0), "exception flags 0x%x",
              fetestexcept(FE_ALL_EXCEPT));
        for (unsigned i = 0; i < values.size(); ++i) {
            CHECK(values[i] == expected[i], "st(%u) changed", 7 - i);
        }
    });
    me.wait_for_check();
    threads.finish();
}
