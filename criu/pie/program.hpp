// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

/// Contract between criu and the code that it runs in other processes.
///
/// This code is a small position-independent interpreter (criu/pie/blob/). It runs a *program*: a list of steps,
/// mostly system calls with literal arguments. In a dump, the interpreter makes queries that only the task itself
/// can make. In a restore, it is the last code of criu in a restored process: it unmaps criu's memory and maps the
/// task's. Ordinary code of criu composes the program and makes all decisions; it can throw and be tested.
///
/// All types here are freestanding and have a fixed layout. They contain no pointers, only addresses in the target's
/// memory.
namespace criu::pie {

/// Version of all layouts and meanings below. The blob refuses programs of another version.
inline constexpr std::uint32_t kContractVersion = 4;

enum class Op : std::uint8_t {
    Syscall,       ///< number(args…); `check` tests the result
    CompatCall,    ///< call of the 32-bit interface: up to five arguments, addresses below 4 GiB
    FutexWait,     ///< sleep until the u32 at args[0] is at least args[1]
    FutexAdd,      ///< add args[1] to the u32 at args[0] and wake its sleepers
    SpawnThreads,  ///< clone args[1] threads described by the ThreadStart array at args[0]
    TimerCreate,   ///< timer_create(args[0], sigevent at args[1]) until the id is args[2] (ids count up per process)
    StoreResult,   ///< write the previous step's result as u64 to args[0]
    Park,          ///< sleep until the tracer takes over
};

/// Results of a step with which the program continues.
enum class ResultCheck : std::uint8_t {
    Any,          ///< any result
    Success,      ///< not an error (-4095…-1)
    EqualsFirst,  ///< equal to args[0] (mappings placed at an address)
    Equals,       ///< equal to `detail`
};

/// Subject of a step, for its error message. `Step::detail` identifies it.
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
    std::int64_t result = 0;   ///< out: result of the kernel (-errno for an error)
    std::uint64_t detail = 0;  ///< address, fd or signal of the subject; the wanted value for ResultCheck::Equals
};
static_assert(sizeof(Step) == 80 && offsetof(Step, number) == 8 && offsetof(Step, result) == 64);

/// True if the program may continue after `result` of `step`.
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

/// First failure of a run, in memory that all its processes share. The process that sets `claimed` first owns it.
struct Failure {
    std::uint32_t claimed = 0;
    std::uint32_t complete = 0;  ///< set when all other fields are valid
    std::int32_t tid = 0;
    Subject subject = Subject::None;
    std::uint64_t detail = 0;
    std::int64_t result = 0;
    std::int64_t number = 0;
    char text[1024] = {};  ///< message of criu's code; empty if a step failed
};

/// Header of one thread's program.
struct Program {
    std::uint32_t version = kContractVersion;
    std::uint32_t count = 0;      ///< number of steps
    std::uint64_t steps = 0;      ///< address of the first step
    std::uint64_t failure = 0;    ///< address of a Failure to fill; 0 if the caller reads the results
    std::uint64_t failWord = 0;   ///< address of a u32 futex, set to 1 and woken after a failure; 0: none
    std::uint32_t executed = 0;   ///< out: number of executed steps
    std::uint32_t parkAtEnd = 0;  ///< 1: sleep at the end; 0: return and end the blob's run
};
static_assert(sizeof(Program) == 40);

/// Arguments of a new thread: struct clone_args of <linux/sched.h> with 88 bytes, and the thread's program.
struct ThreadStart {
    std::uint64_t cloneArgs[11] = {};
    std::uint64_t program = 0;
};
static_assert(sizeof(ThreadStart) == 96);

/// Stack size of an interpreter in bytes. Its call depth is small, and signals are blocked.
inline constexpr std::size_t kStackSize = 2048;

/// Returns the text of a subject: "move memory", "create POSIX timer" …
const char* subjectText(Subject subject) noexcept;

}  // namespace criu::pie
