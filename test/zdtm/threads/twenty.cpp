// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also group-killed, all-killed, dump-killed, background-killed, pre-dump-killed
#include <array>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
struct Seen {
    pid_t tid;
    pthread_t handle;
};

thread_local std::array<int, 100> thread_data;

// Uses more of the stack than criu does. criu puts a signal frame below the stack pointer, and this would make a full
// stack grow by a page, as a signal would.
[[gnu::noinline]] void use_stack() {
    std::array<volatile char, 16384> deep{};
    deep[0] = 1;
}
}  // namespace

ZDTM("20 threads keep tid, name, thread-local data, signal mask and alternate stack") {
    constexpr unsigned count = 20;
    std::array<Seen, count> before{};
    std::array<std::array<std::byte, 16384>, count> stacks{};
    zdtm::Threads threads(
        count,
        [&](unsigned index) {
            before[index] = {gettid(), pthread_self()};
            thread_data.fill(static_cast<int>(index));
            pthread_setname_np(pthread_self(), ("thread " + std::to_string(index)).c_str());
            sigset_t mask;
            sigemptyset(&mask);
            sigaddset(&mask, SIGTERM);
            sigaddset(&mask, SIGRTMIN + static_cast<int>(index));
            pthread_sigmask(SIG_SETMASK, &mask, nullptr);
            if (index % 2 == 0) {
                const stack_t stack{stacks[index].data(), 0, stacks[index].size()};
                SYS(sigaltstack(&stack, nullptr));
            }
        },
        [&](unsigned index) {
            CHECK(gettid() == before[index].tid, "tid was %d, is %d", before[index].tid, gettid());
            CHECK(pthread_equal(pthread_self(), before[index].handle), "pthread_self() changed");
            for (const int value : thread_data) {
                CHECK(value == static_cast<int>(index), "thread-local %d in thread %u", value, index);
            }
            char name[16] = {};
            pthread_getname_np(pthread_self(), name, sizeof name);
            CHECK(name == "thread " + std::to_string(index), "name is %s", name);
            sigset_t mask;
            pthread_sigmask(SIG_SETMASK, nullptr, &mask);
            for (int number = SIGRTMIN; number < SIGRTMIN + static_cast<int>(count); ++number) {
                const bool wanted = number == SIGRTMIN + static_cast<int>(index);
                CHECK(sigismember(&mask, number) == (wanted ? 1 : 0), "signal %d of thread %u's mask", number, index);
            }
            stack_t stack{};
            SYS(sigaltstack(nullptr, &stack));
            if (index % 2 == 0) {
                CHECK(stack.ss_sp == stacks[index].data() && stack.ss_size == stacks[index].size(), "stack %p",
                      stack.ss_sp);
            } else {
                CHECK((stack.ss_flags & SS_DISABLE) != 0, "an alternate stack appeared");
            }
        });
    use_stack();
    me.wait_for_check();
    threads.finish();
}
