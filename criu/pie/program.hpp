// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

/// Data structures that criu shares with the code that it runs in other processes.
///
/// This code is a small position-independent interpreter (criu/pie/blob/). It executes a *program*: a list of steps,
/// mostly system calls with literal arguments. In a dump, the interpreter makes queries that only the task itself can
/// make. In a restore, the interpreter is the last code of criu in a restored process: it unmaps criu's memory and maps
/// the task's memory. Ordinary code of criu composes the program and makes all decisions.
///
/// All types in this file have a fixed layout, and need no library. They contain no pointers, only addresses in the
/// memory of the process that executes the program.
namespace criu::pie {

/// Version of all types in this file. The interpreter refuses programs of another version.
inline constexpr std::uint32_t kContractVersion = 5;

enum class Op : std::uint8_t {
    Syscall,       ///< makes the system call `number` with `args`
    CompatCall,    ///< like Syscall, but of the 32-bit interface; at most five arguments, with addresses below 4 GiB
    FutexWait,     ///< sleeps until the u32 at args[0] is at least args[1]
    FutexAdd,      ///< adds args[1] to the u32 at args[0], and wakes all threads that sleep on it
    SpawnThreads,  ///< creates args[1] threads, as the array of ThreadStart at args[0] describes them
    TimerCreate,   ///< creates a POSIX timer with id args[2]: timer_create(args[0], sigevent at args[1])
    StoreResult,   ///< writes the result of the step before as u64 to args[0]
    Park,          ///< sleeps until the tracer stops the thread
    EndUnlessSet,  ///< ends the process if the u32 at args[0] is 0
    StopSelf,      ///< stops the process by the signal args[0], unless SIGCONT is pending; all signals must be blocked
    FrameReturn,   ///< continues by the signal frame at args[0] (rt_sigreturn(2)); never returns
};

/// Results of a step with which the program continues.
enum class ResultCheck : std::uint8_t {
    Any,          ///< any result
    Success,      ///< any result except an error (-4095…-1)
    EqualsFirst,  ///< args[0], for calls that map memory at an address
    Equals,       ///< the value `detail`
};

/// Subject of a step for error messages. `Step::detail` is the address, descriptor or number of the subject.
enum class Subject : std::uint32_t {
    None,
    UnmapOld,
    MoveMemory,
    MapMemory,
    ProtectMemory,
    AdviseMemory,
    LockMemory,
    MoveVdso,
    MemoryLayout,
    CloseFd,
    SignalAction,
    SignalQueue,
    SignalStack,
    SignalMask,
    IntervalTimer,
    PosixTimer,
    ResourceLimit,
    Scheduler,
    Personality,
    Credentials,
    Capabilities,
    SecureBits,
    NoNewPrivileges,
    Dumpable,
    ParentDeathSignal,
    RobustList,
    ClearTid,
    Rseq,
    Name,
    Thread,
    Subreaper,
    AsyncIo,
    SysvShm,
    Seccomp,
    SecurityLabel,
    Directory,
    Unshare,
    Query,
    Other,
};

struct Step {
    Op op = Op::Syscall;
    ResultCheck check = ResultCheck::Success;
    std::uint16_t indirect = 0;  ///< bit n: args[n] is the address of a u64 that holds the argument
    Subject subject = Subject::None;
    std::int64_t number = 0;
    std::uint64_t args[6] = {};
    std::int64_t result = 0;  ///< result of the kernel, which the interpreter stores (-errno for an error)
    /// Address, descriptor or signal of the subject; for ResultCheck::Equals the wanted result.
    std::uint64_t detail = 0;
};
static_assert(sizeof(Step) == 80 && offsetof(Step, number) == 8 && offsetof(Step, result) == 64);

/// Returns true if a program may continue when `step` had this result.
inline bool passes(const Step& step, std::int64_t result) noexcept {
    constexpr std::int64_t kLargestError = 4095;
    switch (step.check) {
        case ResultCheck::Any:
            return true;
        case ResultCheck::Success:
            return result >= 0 || result < -kLargestError;
        case ResultCheck::EqualsFirst:
            return static_cast<std::uint64_t>(result) == step.args[0];
        case ResultCheck::Equals:
            return static_cast<std::uint64_t>(result) == step.detail;
    }
    return false;
}

/// First failure of all processes of a run, in memory that they share. Only the process that was the first to set
/// `claimed` may fill the other fields.
struct Failure {
    std::uint32_t claimed = 0;
    std::uint32_t complete = 0;  ///< 1 when all other fields are valid
    std::int32_t tid = 0;
    Subject subject = Subject::None;
    std::uint64_t detail = 0;
    std::int64_t result = 0;
    std::int64_t number = 0;
    char text[1024] = {};  ///< message of criu's C++ code; empty if a step failed
};

/// Header of one thread's program.
struct Program {
    std::uint32_t version = kContractVersion;
    std::uint32_t count = 0;  ///< number of steps
    std::uint64_t steps = 0;  ///< address of the first step
    /// Address of the Failure that a failed step fills; 0 if the caller reads the results of the steps.
    std::uint64_t failure = 0;
    /// Address of a u32 futex that the interpreter sets to 1 and wakes after a failure; 0 for none.
    std::uint64_t failWord = 0;
    std::uint32_t executed = 0;  ///< number of executed steps, which the interpreter stores
    /// 1: the thread sleeps at the end; 0: the interpreter returns, which ends the blob's run.
    std::uint32_t parkAtEnd = 0;
};
static_assert(sizeof(Program) == 40);

/// Arguments of a new thread: struct clone_args of <linux/sched.h> (88 bytes), and the address of the thread's Program.
struct ThreadStart {
    std::uint64_t cloneArgs[11] = {};
    std::uint64_t program = 0;
};
static_assert(sizeof(ThreadStart) == 96);

/// Size of an interpreter's stack in bytes. It can be small, because calls are nested little and signals are blocked.
inline constexpr std::size_t kStackSize = 2048;

/// Returns the text of a subject: "move memory", "create POSIX timer" …
const char* subjectText(Subject subject) noexcept;

}  // namespace criu::pie
