// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

/// The contract between criu and the code it runs inside other processes.
///
/// That code is one small position-independent interpreter (criu/pie/blob/). It runs a *program*: a list of steps,
/// nearly all of them system calls with literal arguments. On dump it asks the kernel what only the task itself can
/// ask; on restore it is the last code of the new process: it takes criu's memory away and puts the task's in place.
/// All decisions are made by whoever composes the program, in ordinary code that can be read, tested and can throw.
///
/// Everything here is freestanding, has a fixed layout, and holds no pointers but addresses in the target's memory.
namespace criu::pie {

/// Changes whenever a layout or a meaning below changes; the blob refuses programs of another version.
inline constexpr std::uint32_t kContractVersion = 4;

enum class Op : std::uint8_t {
    Syscall,       ///< number(args…), judged by `check`
    CompatCall,    ///< the same as a 32-bit program makes it: up to five arguments, addresses below 4 GiB
    FutexWait,     ///< sleep until the u32 at args[0] is at least args[1]
    FutexAdd,      ///< add args[1] to the u32 at args[0] and wake its sleepers
    SpawnThreads,  ///< clone args[1] threads described by the ThreadStart array at args[0]
    TimerCreate,   ///< timer_create(args[0], sigevent at args[1]) until the id is args[2] (ids count up per process)
    StoreResult,   ///< write the previous step's result as u64 to args[0]
    Park,          ///< sleep for ever: the tracer takes it from here
};

/// What result of a step lets the program go on.
enum class ResultCheck : std::uint8_t {
    Any,          ///< whatever comes
    Success,      ///< not an error (-4095…-1)
    EqualsFirst,  ///< equal to args[0] (mappings placed at an address)
    Equals,       ///< equal to `detail`
};

/// What a step is about, for the message when it fails. `Step::detail` says which one.
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
    std::int64_t result = 0;  ///< out: raw kernel result (-errno on error)
    std::uint64_t detail =
        0;  ///< the address, fd, signal … the subject is about; the wanted value for ResultCheck::Equals
};
static_assert(sizeof(Step) == 80 && offsetof(Step, number) == 8 && offsetof(Step, result) == 64);

/// Whether `result`, that of `step`, lets a program go on.
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

/// The first failure of a run, in memory shared by all processes of it; claimed by the first to set `claimed`.
struct Failure {
    std::uint32_t claimed = 0;
    std::uint32_t complete = 0;  ///< set when the rest is readable
    std::int32_t tid = 0;
    Subject subject = Subject::None;
    std::uint64_t detail = 0;
    std::int64_t result = 0;
    std::int64_t number = 0;
    char text[1024] = {};  ///< message of host code; empty when a step failed
};

/// Head of one thread's program.
struct Program {
    std::uint32_t version = kContractVersion;
    std::uint32_t count = 0;      ///< number of steps
    std::uint64_t steps = 0;      ///< address of the first
    std::uint64_t failure = 0;    ///< address of a Failure to fill, 0 if the caller reads the results itself
    std::uint64_t failWord = 0;   ///< address of a u32 futex that is set to 1 and woken on failure, 0 if none
    std::uint32_t executed = 0;   ///< out: steps that ran
    std::uint32_t parkAtEnd = 0;  ///< 1: sleep for ever at the end, 0: return, which ends the blob's run
};
static_assert(sizeof(Program) == 40);

/// struct clone_args of <linux/sched.h>, 88 bytes form, and the program of the new thread.
struct ThreadStart {
    std::uint64_t cloneArgs[11] = {};
    std::uint64_t program = 0;
};
static_assert(sizeof(ThreadStart) == 96);

/// Stack each interpreter instance needs (it never calls anything deep, and signals are blocked).
inline constexpr std::size_t kStackSize = 2048;

/// Text for a subject: "move memory", "create POSIX timer" …
const char* subjectText(Subject subject) noexcept;

}  // namespace criu::pie
