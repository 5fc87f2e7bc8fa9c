// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/injected_memory.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/engine/journal_reverter.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/injection_record.hpp"

namespace criu::engine {
namespace {

/// Memory of an injection: the blob, and the data after it.
struct InjectedRange {
    compel::RemoteAddress start;
    std::uint64_t codeSize;
    std::uint64_t size;  ///< size of code and data
};

/// Returns true if the memory at `start` contains the blob. `mayBeNew`: the memory may contain zeros instead, because
/// criu was killed between the system call and the copy of the code.
bool holds(const compel::Blob& blob, const compel::RemoteMemory& memory, compel::RemoteAddress start, bool mayBeNew) {
    const auto wanted = blob.bytes;
    std::vector<std::byte> found(wanted.size());
    if (memory.readSome(start, found) < found.size())
        return false;
    return std::equal(found.begin(), found.end(), wanted.begin()) ||
           (mayBeNew && std::all_of(found.begin(), found.end(), [](std::byte each) { return each == std::byte{0}; }));
}

/// Searches for the blob. The mapping of code has exactly the blob's size, with a writable one after it. If criu was
/// killed before it mapped the data, one mapping has the size of both, or two executable ones if the kernel refused the
/// data: a failed mmap(2) at a fixed address leaves the old mapping in two parts (Linux 6.12). If criu was killed
/// between two calls that unmap both, only the code is left.
std::optional<InjectedRange> findInjection(const kernel::ProcPid& process, pid_t pid,
                                           const pie::InjectionRecord& record) {
    const std::uint64_t codeSize = pageAlignUp(record.blob->bytes.size());
    const std::uint64_t both = codeSize + record.dataSize;
    const std::vector<kernel::Vma> all = kernel::readMaps(process);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const kernel::Vma& vma = all[i];
        if (!kernel::isAnonymous(vma) || vma.prot != (PROT_READ | PROT_EXEC) ||
            (vma.size() != both && vma.size() != codeSize))
            continue;
        const kernel::Vma* const next = i + 1 < all.size() && all[i + 1].start == vma.end ? &all[i + 1] : nullptr;
        const bool hasData =
            next != nullptr &&
            ((next->prot == (PROT_READ | PROT_WRITE) && next->size() >= record.dataSize) ||
             (next->prot == vma.prot && next->size() == record.dataSize && kernel::isAnonymous(*next)));
        const bool isBoth = vma.size() == both;
        if (holds(*record.blob, compel::RemoteMemory(pid), vma.start, isBoth || hasData))
            return InjectedRange{vma.start, codeSize, isBoth || hasData ? both : codeSize};
    }
    return std::nullopt;
}

/// Returns the number of bytes from the first mapping to the first one that no restorer has. A restorer has anonymous
/// mappings, gaps, and memfds with the commit word (CommitWord) and the control page. Returns at most `most`.
std::uint64_t restorerSize(std::span<const kernel::Vma> mappings, std::uint64_t most) {
    const std::uint64_t start = mappings.front().start;
    for (const kernel::Vma& vma : mappings)
        if (!kernel::isAnonymous(vma) && !vma.name.starts_with("/memfd:criu-commit") &&
            !vma.name.starts_with("/memfd:criu-restore-control"))
            return std::min<std::uint64_t>(most, vma.start - start);
    return most;
}

/// Returns true for the signal mask of a thread that makes a system call of criu. The C library lets programs block all
/// signals but two.
bool blocksAll(compel::SignalMask mask) noexcept {
    return (mask | compel::signalBit(SIGKILL) | compel::signalBit(SIGSTOP)) == compel::allSignals;
}

/// System calls of a killed criu that threads of a process may make, by /proc.
/// `Stopped`: only after SIGCONT.
enum class Calls : std::uint8_t { None, Perhaps, Stopped, Some };

/// Tells if a thread makes a system call of criu, which may still map memory. A thread in an interruptible sleep makes
/// no such call. A thread that the kernel has woken at the end of criu, and hasn't run since, may have its own signal
/// mask: criu sets the registers of a call before the mask.
Calls callsOf(const kernel::ProcPid& process) {
    // Flags of kernel worker threads, which block all signals: PF_IO_WORKER, and PF_USER_WORKER since Linux 6.4.
    constexpr std::uint32_t kWorker = 0x10 | 0x4000;
    kernel::ProcBuffer buffer;
    Calls calls = Calls::None;
    try {
        for (const pid_t tid : kernel::readThreads(process)) {
            const kernel::TaskStatus status = kernel::readThreadStatus(process, tid, buffer);
            // The end of criu closes the journal before it detaches threads (do_exit() of Linux).
            const bool isTraced = status.tracerPid != 0;
            using enum kernel::TaskState;
            if ((isTraced || blocksAll(status.blocked)) &&
                (kernel::readStat(process.thread(tid), buffer).flags & kWorker) == 0) {
                if (isTraced || status.state != Stopped)
                    return Calls::Some;
                calls = Calls::Stopped;
            }
            // Such a thread may wait for the lock of the memory, or so long that no tracer can stop it. A thread
            // without tracer in a tracing stop is about to be woken.
            if (status.state == DiskSleep || status.state == Tracing)
                return Calls::Some;
            if (status.state == Running || status.state == Stopped)
                calls = std::max(calls, Calls::Perhaps);
        }
        return calls;
    } catch (const Error& error) {
        if (error.code() != ENOENT && error.code() != ESRCH)
            throw;
        return Calls::Some;  // a thread has ended; the caller looks again
    }
}

/// Returns true if the next instruction of a thread is a system call, which may be one of criu.
bool isBeforeCall(const compel::FrozenProcess& process) {
    return std::any_of(process.threads().begin(), process.threads().end(), [&](const compel::FrozenThread& thread) {
        std::array<std::byte, compel::syscallInstructionBytes.size()> next{};
        return process.memory().readSome(thread.tracee.registers().ip(), next) == next.size() &&
               compel::entersKernel(next);
    });
}

/// Activity of the threads of a process in the memory of an injection, in the order of precedence.
/// `Calls`: a thread may make a system call of criu.
/// `Waits`: a stopped thread executes code of the blob.
/// `Runs`: another thread executes code of the blob.
enum class Use : std::uint8_t { None, Calls, Waits, Runs };

/// Returns how the threads use a range. `inTime`: false if the process has run so long that only a stopped thread can
/// still make a system call of criu.
Use useOf(const compel::FrozenProcess& process, const InjectedRange& range, bool inTime) {
    Use use = Use::None;
    for (const compel::FrozenThread& thread : process.threads()) {
        if (thread.tracee.registers().ip() - range.start < range.codeSize)
            use = std::max(use, thread.groupStopped() ? Use::Waits : Use::Runs);
        else if ((inTime || thread.groupStopped()) && blocksAll(thread.tracee.signalMask()))
            use = std::max(use, Use::Calls);
    }
    return use;
}

compel::FreezeOptions freezeOptions(const kernel::ProcPid& process) {
    constexpr std::chrono::seconds kPatience{2};
    compel::FreezeOptions options;
    options.patience = kPatience;
    options.seize.longestWait = kPatience;
    kernel::ProcBuffer buffer;
    const auto seccomp = kernel::readStatus(process, buffer).seccomp;
    options.seize.suspendSeccomp = seccomp && *seccomp != kernel::SeccompMode::Disabled;
    return options;
}

using Find = std::function<std::optional<InjectedRange>(const kernel::ProcPid&)>;

/// Unmaps the memory that `find` returns, when no thread uses it any more. `open`: opens the process' directory in
/// /proc, and returns nothing when the process has ended. Returns false as unmapInjection().
bool unmapFound(pid_t pid, const std::function<std::optional<kernel::ProcPid>()>& open, const Find& find,
                RescueDeadline end) {
    constexpr std::chrono::milliseconds kPause{5};
    // A blob ends by itself, but it may wait for a clone of much memory, and for a processor.
    constexpr std::chrono::seconds kLongestBlob{20};
    const auto blobEnd = end + kLongestBlob;
    bool any = false;
    while (const auto directory = open()) {
        const Calls calls = callsOf(*directory);
        // The call of a thread that blocks all signals longer is none of criu's. A stopped thread may not continue
        // soon.
        const bool inTime = calls != Calls::Stopped && std::chrono::steady_clock::now() < end;
        if (inTime && calls == Calls::Some) {
            std::this_thread::sleep_for(kPause);
            continue;
        }
        if ((calls == Calls::None || !inTime) && !find(*directory))
            return any;
        auto frozen = compel::FrozenProcess::freeze(pid, freezeOptions(*directory));
        // Searches again, because the process has run since the first search, and its pid may be another's now.
        const auto found = open() ? find(*directory) : std::optional<InjectedRange>();
        const Use use = found ? useOf(frozen, *found, inTime) : Use::None;
        const bool isFree = found ? use == Use::None : !isBeforeCall(frozen);
        if (found && isFree) {
            auto instruction = frozen.unmappingInstruction(found->start, found->start + found->size);
            compel::RemoteSyscalls remote(frozen.leader(), instruction ? instruction : frozen.syscallInstruction());
            remote.munmap(found->start, found->size);
            remote.restore();
            any = true;
        }
        frozen.detach();
        if (use == Use::Runs) {
            if (std::chrono::steady_clock::now() > blobEnd)
                fail("process {} still executes code of criu: run criu rescue again later", pid);
        } else if (found ? !isFree && !inTime : isFree || !inTime) {
            return any;
        }
        std::this_thread::sleep_for(kPause);
    }
    return any;
}

}  // namespace

bool unmapInjection(const JournalLine& line, RescueDeadline end) {
    const auto record = pie::InjectionRecord::of(line);
    const JournalProcess process = JournalProcess::of(record.process, record.startTime);
    return unmapFound(
        process.pid, [&] { return process.openRunning(); },
        [&](const kernel::ProcPid& directory) { return findInjection(directory, process.pid, record); }, end);
}

bool unmapRestorer(pid_t pid, std::uint64_t start, std::uint64_t size, RescueDeadline end) {
    const std::uint64_t codeSize = pageAlignUp(pie::interpreterBlob().bytes.size());
    const auto open = [pid]() -> std::optional<kernel::ProcPid> {
        try {
            return kernel::ProcDir().open(pid);
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
            return std::nullopt;
        }
    };
    // The content tells the restorer from memory of another process with the pid, which may have a smaller restorer at
    // the same address. So the size ends at the first mapping that no restorer has.
    return unmapFound(
        pid, open,
        [&](const kernel::ProcPid& directory) -> std::optional<InjectedRange> {
            const std::vector<kernel::Vma> all = kernel::readMaps(directory);
            for (std::size_t i = 0; i < all.size(); ++i)
                if (const kernel::Vma& vma = all[i];
                    vma.start == start && vma.size() == codeSize && vma.prot == (PROT_READ | PROT_EXEC) &&
                    kernel::isAnonymous(vma) && holds(pie::interpreterBlob(), compel::RemoteMemory(pid), start, false))
                    return InjectedRange{start, codeSize, restorerSize(std::span(all).subspan(i), size)};
            return std::nullopt;
        },
        end);
}

}  // namespace criu::engine
