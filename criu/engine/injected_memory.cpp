// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/injected_memory.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/engine/journal_reverter.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/pie/injection_record.hpp"

namespace criu::engine {
namespace {

/// Memory of an injection: the blob, and the data after it.
struct InjectedRange {
    compel::RemoteAddress start;
    std::uint64_t codeSize;
    std::uint64_t dataSize;
};

/// Returns true if the memory at `start` contains the blob, or zeros. It contains zeros if criu was killed between the
/// system call and the copy of the code.
bool holds(const compel::Blob& blob, const compel::RemoteMemory& memory, compel::RemoteAddress start) {
    const auto wanted = blob.bytes;
    std::vector<std::byte> found(wanted.size());
    if (memory.readSome(start, found) < found.size())
        return false;
    return std::equal(found.begin(), found.end(), wanted.begin()) ||
           std::all_of(found.begin(), found.end(), [](std::byte each) { return each == std::byte{0}; });
}

/// Searches for the blob. The mapping of code has exactly the blob's size, with a writable one after it. If criu was
/// killed before it mapped the data, one mapping has the size of both.
std::optional<InjectedRange> findInjection(const kernel::ProcPid& process, pid_t pid,
                                           const pie::InjectionRecord& record) {
    const std::uint64_t codeSize = pageAlignUp(record.blob->bytes.size());
    const std::uint64_t dataSize = record.dataSize;
    const std::vector<kernel::Vma> all = kernel::readMaps(process);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const kernel::Vma& vma = all[i];
        if (!kernel::isAnonymous(vma) || vma.prot != (PROT_READ | PROT_EXEC))
            continue;
        const bool isBoth = vma.size() == codeSize + dataSize;
        const bool isCode = vma.size() == codeSize && i + 1 < all.size() && all[i + 1].start == vma.end &&
                            all[i + 1].size() >= dataSize && all[i + 1].prot == (PROT_READ | PROT_WRITE);
        if ((isBoth || isCode) && holds(*record.blob, compel::RemoteMemory(pid), vma.start))
            return InjectedRange{vma.start, codeSize, dataSize};
    }
    return std::nullopt;
}

/// Returns true for the signal mask of a thread that makes a system call of criu. The C library lets programs block all
/// signals but two.
bool blocksAll(compel::SignalMask mask) noexcept {
    return (mask | compel::signalBit(SIGKILL) | compel::signalBit(SIGSTOP)) == compel::allSignals;
}

/// Returns true if a thread makes a system call of criu, by /proc. Such a call may still map memory.
bool makesCall(const kernel::ProcPid& process) {
    // Flags of kernel worker threads, which block all signals: PF_IO_WORKER, and PF_USER_WORKER since Linux 6.4.
    constexpr std::uint32_t kWorker = 0x10 | 0x4000;
    kernel::ProcBuffer buffer;
    try {
        const std::vector<pid_t> threads = kernel::readThreads(process);
        return std::any_of(threads.begin(), threads.end(), [&](pid_t tid) {
            return blocksAll(kernel::readThreadStatus(process, tid, buffer).blocked) &&
                   (kernel::readStat(process.thread(tid), buffer).flags & kWorker) == 0;
        });
    } catch (const Error& error) {
        if (error.code() != ENOENT && error.code() != ESRCH)
            throw;
        return true;  // a thread has ended; the caller looks again
    }
}

/// Returns true if a thread makes a system call of criu, or executes code of the blob. `inTime`: false if the
/// process has run so long that only a stopped thread can still make such a call.
bool isBusy(const compel::FrozenProcess& process, const InjectedRange& range, bool inTime) {
    return std::any_of(process.threads().begin(), process.threads().end(), [&](const compel::FrozenThread& thread) {
        return thread.tracee.registers().ip() - range.start < range.codeSize ||
               ((inTime || thread.groupStopped()) && blocksAll(thread.tracee.signalMask()));
    });
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

}  // namespace

bool unmapInjection(const JournalLine& line) {
    const auto record = pie::InjectionRecord::of(line);
    const JournalProcess process = JournalProcess::of(record.process, record.startTime);
    constexpr std::chrono::seconds kPatience{2};
    constexpr std::chrono::milliseconds kPause{5};
    const auto end = std::chrono::steady_clock::now() + kPatience;
    bool any = false;
    while (const auto directory = process.openRunning()) {
        // The call of a thread that blocks all signals longer is none of criu's.
        const bool inTime = std::chrono::steady_clock::now() < end;
        if (inTime && makesCall(*directory)) {
            std::this_thread::sleep_for(kPause);
            continue;
        }
        if (!findInjection(*directory, process.pid, record))
            return any;
        auto frozen = compel::FrozenProcess::freeze(process.pid, freezeOptions(*directory));
        // Searches again, because the process has run since the first search, and its pid may be another's now.
        const auto found =
            process.openRunning() ? findInjection(*directory, process.pid, record) : std::optional<InjectedRange>();
        const bool isFree = found && !isBusy(frozen, *found, inTime);
        if (isFree) {
            compel::RemoteSyscalls calls(frozen.leader(), frozen.syscallInstruction());
            calls.munmap(found->start, found->codeSize + found->dataSize);
            calls.restore();
            any = true;
        }
        frozen.detach();
        if (found && !isFree && !inTime)
            return any;
        std::this_thread::sleep_for(kPause);
    }
    return any;
}

}  // namespace criu::engine
