// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor x86
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>

#include "threads.hpp"
#include "zdtm.hpp"

// The abort handler of the section. The kernel requires the signature before it.
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
constexpr std::uint64_t kSize = 4096;  // size of the injection

// The kernel's struct rseq_cs.
struct alignas(32) Section {
    std::uint32_t version;
    std::uint32_t flags;
    std::uint64_t start;
    std::uint64_t length;
    std::uint64_t abort;
} section;

// Returns the address that the kernel gives to the next mapping.
std::uint64_t next_place() {
    void* const at = mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED, "mmap: %m");
    SYS(munmap(at, kSize));
    return reinterpret_cast<std::uint64_t>(at);
}
}  // namespace

ZDTM("a thread's rseq section covers free addresses: the kernel must not abort criu's code that is mapped there") {
    if (__rseq_size == 0) {
        zdtm::skip("glibc registered no rseq area");
    }
    zdtm::Threads threads(1, [](unsigned, zdtm::Threads& all) {
        section = {0, 0, next_place(), kSize, reinterpret_cast<std::uint64_t>(&trap_abort)};
        // field rseq_cs of struct rseq
        auto* const pointer = reinterpret_cast<std::atomic<std::uint64_t>*>(
            static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset + 8);
        all.arrive();
        // The kernel clears rseq_cs at a preemption outside of the section, when the thread returns to user space. So
        // the loop sets it again.
        while (all.released().load() == 0) {
            pointer->store(reinterpret_cast<std::uint64_t>(&section));
            syscall(SYS_futex, &all.released(), FUTEX_WAIT, 0, nullptr, nullptr, 0);
        }
    });
    me.wait_for_check();
    CHECK(trapped.load() == 0, "the kernel aborted code of criu %d times", trapped.load());
    threads.finish();
    CHECK(trapped.load() == 0, "the kernel aborted code of criu %d times", trapped.load());
}
