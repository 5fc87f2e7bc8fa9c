// SPDX-License-Identifier: GPL-2.0-only
// This code runs in other processes, so it can't use libc or criu's data.
#include <sys/syscall.h>

#include <compel/blob/syscall.hpp>

#include "criu/base/arch.hpp"
#include "criu/pie/program.hpp"

// clang-format off
#include CRIU_ARCH_HEADER(pie/blob/arch/CRIU_ARCH/calls.hpp)
// clang-format on

namespace criu::pie {
namespace {

using compel::blob::isError;

constexpr std::uint64_t kFutexWaitOp = 0;
constexpr std::uint64_t kFutexWakeOp = 1;
constexpr std::int64_t kInvalid = -22;  // -EINVAL
constexpr std::int64_t kExists = -17;   // -EEXIST

std::int64_t call(std::int64_t number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
                  std::uint64_t d = 0) noexcept {
    return compel::blob::syscall(number, a, b, c, d);
}

void futexWait(std::uint64_t word, std::uint32_t atLeast) noexcept {
    auto* const value = reinterpret_cast<std::uint32_t*>(word);
    for (;;) {
        const std::uint32_t now = __atomic_load_n(value, __ATOMIC_ACQUIRE);
        if (now >= atLeast)
            return;
        call(SYS_futex, word, kFutexWaitOp, now);
    }
}

void futexAdd(std::uint64_t word, std::uint32_t amount) noexcept {
    __atomic_fetch_add(reinterpret_cast<std::uint32_t*>(word), amount, __ATOMIC_ACQ_REL);
    call(SYS_futex, word, kFutexWakeOp, 0x7fffffff);
}

[[noreturn]] void park() noexcept {
    // Sleeps again after each wake-up: the futex word never changes, so every wake-up is spurious.
    const std::uint32_t never = 0;
    for (;;)
        call(SYS_futex, reinterpret_cast<std::uint64_t>(&never), kFutexWaitOp, 0);
}

/// Ends the process if the word is 0. If a seccomp filter forbids exit_group(2), the trap ends the process, because all
/// signals are blocked.
void endUnlessSet(std::uint64_t word) noexcept {
    if (__atomic_load_n(reinterpret_cast<std::uint32_t*>(word), __ATOMIC_ACQUIRE) != 0)
        return;
    call(SYS_exit_group, 1);
    __builtin_trap();
}

/// Returns true if SIGCONT is pending, which all threads block: the process was stopped before, and must continue.
bool mustContinue() noexcept {
    constexpr std::uint64_t kSetBytes = 8;
    constexpr std::uint64_t kContinue = 18;  // SIGCONT
    std::uint64_t pending = 0;
    call(SYS_rt_sigpending, reinterpret_cast<std::uint64_t>(&pending), kSetBytes);
    return (pending >> (kContinue - 1) & 1) != 0;
}

/// Stops the process. The kernel ignores SIGTSTP, SIGTTIN and SIGTTOU in an orphaned process group, so the process then
/// stops by SIGSTOP.
void stopSelf(std::uint64_t signal) noexcept {
    constexpr std::uint64_t kSetBytes = 8;
    constexpr std::uint64_t kSetMask = 2;  // SIG_SETMASK
    constexpr std::uint64_t kStop = 19;    // SIGSTOP
    if (mustContinue())
        return;
    const auto self = static_cast<std::uint64_t>(call(SYS_getpid));
    if (signal != kStop) {
        const std::uint64_t all = ~std::uint64_t{0}, other = all & ~(std::uint64_t{1} << (signal - 1));
        call(SYS_kill, self, signal);
        call(SYS_rt_sigprocmask, kSetMask, reinterpret_cast<std::uint64_t>(&other), 0, kSetBytes);
        call(SYS_rt_sigprocmask, kSetMask, reinterpret_cast<std::uint64_t>(&all), 0, kSetBytes);
        if (mustContinue())
            return;
    }
    call(SYS_kill, self, kStop);
}

/// Creates a POSIX timer with a chosen id. The kernel assigns ascending ids in each process, so creates timers and
/// deletes them until the kernel assigns the wanted id.
std::int64_t createTimer(const Step& step) noexcept {
    const auto wanted = static_cast<std::int32_t>(step.args[2]);
    for (;;) {
        std::int32_t id = -1;
        const std::int64_t result =
            call(SYS_timer_create, step.args[0], step.args[1], reinterpret_cast<std::uint64_t>(&id));
        if (isError(result) || id == wanted)
            return result;
        call(SYS_timer_delete, static_cast<std::uint64_t>(id));
        if (id > wanted)
            return kInvalid;
    }
}

void runThread(std::uint64_t program) noexcept;

/// Creates a thread. Waits up to two seconds for a taken tid: since Linux 6.15, the tid of an ended thread becomes free
/// after a parent can have waited for the thread's process (release_task()).
std::int64_t createThread(const ThreadStart& thread) noexcept {
    constexpr unsigned kMostTries = 2000;
    constexpr std::uint64_t kPause[] = {0, 1000000};  // one millisecond as struct timespec
    for (unsigned tries = 1;; ++tries) {
        const std::int64_t tid =
            arch::cloneThread(thread.cloneArgs, sizeof(thread.cloneArgs), runThread, thread.program);
        if (tid != kExists || tries == kMostTries)
            return tid;
        call(SYS_nanosleep, reinterpret_cast<std::uint64_t>(kPause));
    }
}

std::int64_t spawnThreads(const Step& step) noexcept {
    const auto* const threads = reinterpret_cast<const ThreadStart*>(step.args[0]);
    for (std::uint64_t i = 0; i < step.args[1]; ++i) {
        const std::int64_t tid = createThread(threads[i]);
        if (isError(tid))
            return tid;
    }
    return 0;
}

std::int64_t execute(const Step& step, std::int64_t previous) noexcept {
    switch (step.op) {
        case Op::Syscall: {
            std::uint64_t args[6];
            for (unsigned i = 0; i < 6; ++i)
                args[i] = (step.indirect >> i & 1U) != 0 ? *reinterpret_cast<const std::uint64_t*>(step.args[i])
                                                         : step.args[i];
            return compel::blob::syscall(step.number, args[0], args[1], args[2], args[3], args[4], args[5]);
        }
        case Op::CompatCall:
            return arch::compatCall(step.number, step.args);
        case Op::FutexWait:
            futexWait(step.args[0], static_cast<std::uint32_t>(step.args[1]));
            return 0;
        case Op::FutexAdd:
            futexAdd(step.args[0], static_cast<std::uint32_t>(step.args[1]));
            return 0;
        case Op::SpawnThreads:
            return spawnThreads(step);
        case Op::TimerCreate:
            return createTimer(step);
        case Op::StoreResult:
            *reinterpret_cast<std::uint64_t*>(step.args[0]) = static_cast<std::uint64_t>(previous);
            return previous;
        case Op::Park:
            park();
        case Op::EndUnlessSet:
            endUnlessSet(step.args[0]);
            return 0;
        case Op::StopSelf:
            stopSelf(step.args[0]);
            return 0;
        case Op::FrameReturn:
            arch::returnByFrame(step.args[0]);
    }
    return kInvalid;
}

void report(const Program& program, const Step& step) noexcept {
    if (program.failure != 0) {
        auto* const failure = reinterpret_cast<Failure*>(program.failure);
        if (__atomic_exchange_n(&failure->claimed, 1U, __ATOMIC_ACQ_REL) == 0) {
            failure->tid = static_cast<std::int32_t>(call(SYS_gettid));
            failure->subject = step.subject;
            failure->detail = step.detail;
            failure->result = step.result;
            failure->number = step.number;
            __atomic_store_n(&failure->complete, 1U, __ATOMIC_RELEASE);
        }
    }
    if (program.failWord != 0)
        futexAdd(program.failWord, 1);
}

void run(Program& program) noexcept {
    auto* const steps = reinterpret_cast<Step*>(program.steps);
    std::int64_t previous = 0;
    for (std::uint32_t i = 0; i < program.count; ++i) {
        steps[i].result = previous = execute(steps[i], previous);
        program.executed = i + 1;
        if (!passes(steps[i], previous)) {
            report(program, steps[i]);
            break;
        }
    }
    if (program.parkAtEnd != 0)
        park();
}

void runThread(std::uint64_t program) noexcept {
    run(*reinterpret_cast<Program*>(program));
    park();
}

}  // namespace
}  // namespace criu::pie

extern "C" std::int64_t blob_entry(void* argument) {
    auto& program = *static_cast<criu::pie::Program*>(argument);
    if (program.version != criu::pie::kContractVersion)
        return criu::pie::kInvalid;
    criu::pie::run(program);
    return program.executed;
}
