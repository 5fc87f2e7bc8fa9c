// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused process \d+\b.* 32-bit
// zdtm: fails-with-4.2 its message does not say so
// zdtm: processor x86
#include <sys/wait.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
// Code and stack lie below 4 GiB, where 32-bit code can reach them.
constexpr unsigned char code[] = {
    0xff, 0x1e,              // 64-bit: lcall *(%rsi)
    0xc3,                    // ret
    0x36, 0x83, 0x3f, 0x00,  // 32-bit: 1: cmpl $0,%ss:(%edi)   (%ds is empty in 64-bit programs)
    0x74, 0xfa,              // je 1b
    0xcb,                    // lret
};
constexpr unsigned part32 = 3;

struct [[gnu::packed]] FarPointer {
    std::uint32_t address;
    std::uint16_t selector;
};

/// Returns true if a child process can run 32-bit code: a breakpoint then ends the child by SIGTRAP.
bool runs_32_bit_code(std::span<std::byte> memory) {
    const pid_t child = fork();
    if (child == 0) {
        memory[0] = std::byte{0xcc};
        asm volatile("pushq $0x23\n\tpushq %0\n\tlretq" ::"r"(memory.data()) : "memory");
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP;
}
}  // namespace

ZDTM("a 64-bit program with a thread in 32-bit code") {
    const std::size_t page = zdtm::page_size();
    const std::span<std::byte> memory =
        zdtm::map(2 * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT);
    if (!runs_32_bit_code(memory))
        zdtm::skip("this kernel doesn't run 32-bit code (CONFIG_IA32_EMULATION)");
    memcpy(memory.data(), code, sizeof(code));
    const auto low = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(memory.data()));
    constexpr std::uint16_t user32 = 0x23;
    const FarPointer target{low + part32, user32};
    // The thread spins in 32-bit code until the flag is set.
    auto* const flag = new (memory.data() + page) std::atomic<int>(0);
    zdtm::Threads threads(1, [&](unsigned, zdtm::Threads& all) {
        all.arrive();
        asm volatile(
            "mov %%rsp, %%rbx\n\t"
            "mov %[stack], %%rsp\n\t"
            "call *%[code]\n\t"
            "mov %%rbx, %%rsp"
            :
            : [stack] "r"(memory.data() + memory.size()), [code] "r"(memory.data()), "S"(&target), "D"(flag)
            : "rbx", "memory", "cc");
    });
    usleep(50'000);
    me.wait_for_check();
    *flag = 1;
    threads.finish();
}
