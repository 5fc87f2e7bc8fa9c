// SPDX-License-Identifier: GPL-2.0-only
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>

#include "threads.hpp"
#include "zdtm.hpp"

// Where the kernel takes a thread that it finds in the section. It has to stand behind the signature.
extern "C" void trap_abort();
asm(R"(
    .text
    .long 0x53053053
    .globl trap_abort
trap_abort:
    lock incl trapped(%rip)
    mov $1, %edi
    mov $60, %eax
    syscall
)");
extern "C" {
std::atomic<int> trapped{0};
}

namespace {
constexpr std::uint64_t kSize = 4096;  // what criu needs for its code

// struct rseq_cs
struct alignas(32) Section {
    std::uint32_t version;
    std::uint32_t flags;
    std::uint64_t start;
    std::uint64_t length;
    std::uint64_t abort;
} section;

// Where the kernel places the next mapping.
std::uint64_t next_place() {
    void* const at = mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED, "mmap: %m");
    SYS(munmap(at, kSize));
    return reinterpret_cast<std::uint64_t>(at);
}
}  // namespace

ZDTM(
    "a thread says of all free memory that it is a restartable sequence: whose code lies there isn't taken out of it") {
    if (__rseq_size == 0) {
        zdtm::skip("glibc registered no rseq area");
    }
    zdtm::Threads threads(1, [](unsigned, zdtm::Threads& all) {
        section = {0, 0, next_place(), kSize, reinterpret_cast<std::uint64_t>(&trap_abort)};
        // rseq_cs of struct rseq
        auto* const pointer = reinterpret_cast<std::atomic<std::uint64_t>*>(
            static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset + 8);
        all.arrive();
        // The kernel forgets the section whenever it takes the thread from the processor outside of it, but not before
        // the thread goes back to its own code.
        while (all.released().load() == 0) {
            pointer->store(reinterpret_cast<std::uint64_t>(&section));
            syscall(SYS_futex, &all.released(), FUTEX_WAIT, 0, nullptr, nullptr, 0);
        }
    });
    me.wait_for_check();
    CHECK(trapped.load() == 0, "the thread was taken out of code that isn't its own %d times", trapped.load());
    threads.finish();
    CHECK(trapped.load() == 0, "the thread was taken out of code that isn't its own %d times", trapped.load());
}
