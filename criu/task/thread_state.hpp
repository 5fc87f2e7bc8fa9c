// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"
#include "images/mm.fwd.hpp"

/// Other state of each thread: name, robust futex list, clear-tid address, rseq area, parent death signal.
namespace criu::task {

/// Registration of restartable sequences, as PTRACE_GET_RSEQ_CONFIGURATION returns it.
struct RseqRegistration {
    std::uint64_t area = 0;
    std::uint32_t size = 0;
    std::uint32_t signature = 0;
    std::uint64_t criticalSection = 0;  ///< rseq_cs pointer in the area; 0 if none
};

/// Reads state that only the thread itself can read.
class ThreadStateQuery {
public:
    /// `compat`: a thread of a 32-bit process; `data` must then have a 32-bit address.
    ThreadStateQuery(bool compat, pie::StepList& steps, pie::RemoteData& data);

    /// `core` must have its register part already. `name`: raw comm.
    void store(pie::RemoteData& answers, HostPid tid, const std::string& name,
               const std::optional<RseqRegistration>& rseq, CoreEntry& core, Arena& arena) const;

private:
    std::uint64_t clearTidAt_;
    std::uint64_t deathSignalAt_;
    std::uint64_t timerSlackAt_;
    std::uint64_t robustListAt_ = 0;  ///< address and length for a 32-bit thread; others are read from outside
};

/// Adds steps that the thread itself runs before its credentials change.
void restoreThreadState(const CoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

/// Adds steps that register addresses of the image which the kernel reads and writes at any time: clear-tid word,
/// robust futex list, rseq area. They come after the thread's credentials: before, the image could make the kernel
/// write to a thread with criu's capabilities. The rseq area must have no pointer to a critical section then
/// (criticalSectionPointer()): the kernel would move the thread out of criu's code to the abort address.
void restoreKernelAddresses(const CoreEntry& core, pie::StepList& steps);

/// Returns the address of the pointer to a critical section in the thread's rseq area; 0 without an area. A critical
/// section in progress is aborted at the dump, so the pointer has no meaning afterwards.
[[nodiscard]] std::uint64_t criticalSectionPointer(const ThreadCoreEntry& thread) noexcept;

/// Throws Error unless the rseq area is in memory that only the process writes.
void requireOwnRseq(const ThreadCoreEntry& thread, const MmEntry& mm);

/// Adds a step that sets the parent death signal. It comes after the credentials, since the kernel clears the signal
/// when these change.
void restoreDeathSignal(const ThreadCoreEntry& core, pie::StepList& steps);

}  // namespace criu::task
