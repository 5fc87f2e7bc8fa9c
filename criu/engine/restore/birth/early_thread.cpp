// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/birth/early_thread.hpp"

#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <thread>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/thread_plan.hpp"
#include "criu/pie/enter.hpp"

namespace criu::engine {
namespace {

/// Size of the thread's stack in bytes. Equal to the usual stack size of a main thread: a process that this thread
/// forks runs on a copy of its stack.
constexpr std::size_t kStack = std::size_t{8} << 20;

void wake(std::uint32_t& word) noexcept {
    (void)pie::rawCall(SYS_futex, reinterpret_cast<std::uint64_t>(&word), FUTEX_WAKE_PRIVATE, INT_MAX);
}

void waitWhile(std::uint32_t& word, std::uint32_t value) noexcept {
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == value)
        (void)pie::rawCall(SYS_futex, reinterpret_cast<std::uint64_t>(&word), FUTEX_WAIT_PRIVATE, value);
}

}  // namespace

EarlyThread::EarlyThread(const std::vector<pid_t>& numbers)
    : stack_(Mapping::anonymous(kStack, MAP_PRIVATE | MAP_NORESERVE | MAP_STACK)) {
    clone_args args{};
    args.flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    args.set_tid = reinterpret_cast<std::uint64_t>(numbers.data());
    args.set_tid_size = numbers.size();
    args.stack = reinterpret_cast<std::uint64_t>(stack_.data());
    args.stack_size = stack_.size();
    const auto start = [&] {
        return pie::startThread(args, &EarlyThread::serve, reinterpret_cast<std::uint64_t>(this));
    };
    std::int64_t result = start();
    // The kernel frees the tid of an ended thread some moments after its process has gone (release_task(), Linux 6.15).
    constexpr int kMostTries = 2000;
    for (int tries = 1; result == -EEXIST && tries < kMostTries; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        result = start();
    }
    if (result < 0)
        failWith(static_cast<int>(-result), "create thread {}", numbers.back());
}

void EarlyThread::setState(State state) noexcept {
    __atomic_store_n(&state_, state, __ATOMIC_RELEASE);
    wake(state_);
}

void EarlyThread::run(const std::function<void()>& work) {
    work_ = &work;
    setState(Run);
    waitWhile(state_, Run);
    if (failure_)
        std::rethrow_exception(std::exchange(failure_, nullptr));
}

void EarlyThread::enter(std::uint64_t entry, std::uint64_t program, std::uint64_t stackTop) noexcept {
    entry_ = entry;
    program_ = program;
    programStack_ = stackTop;
    setState(Enter);
}

EarlyThreads makeEarlyThreads(const model::Task& task, const model::NestedPids& nested) {
    EarlyThreads threads;
    for (const TreePid tid : model::earlyThreads(task))
        threads.emplace(tid, std::make_unique<EarlyThread>(nested.numbersOf(tid)));
    return threads;
}

void EarlyThread::serve(std::uint64_t self) noexcept {
    auto& me = *reinterpret_cast<EarlyThread*>(self);
    for (;;) {
        waitWhile(me.state_, Wait);
        if (__atomic_load_n(&me.state_, __ATOMIC_ACQUIRE) == Enter)
            break;
        try {
            (*me.work_)();
        } catch (...) {
            me.failure_ = std::current_exception();
        }
        me.setState(Wait);
    }
    // Makes only raw system calls: the leader now uses libc and the shared thread-local storage.
    const std::uint64_t all = ~std::uint64_t{0};
    (void)pie::rawCall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<std::uint64_t>(&all), 0, sizeof(all));
    pie::enter(me.entry_, me.program_, me.programStack_);
}

}  // namespace criu::engine
