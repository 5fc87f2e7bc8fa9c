// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"
#include "images/mm.fwd.hpp"

/// What else each thread has of its own: name, robust futex list, clear-tid address, rseq area, parent death signal.
namespace criu::task {

/// Registration of restartable sequences, as PTRACE_GET_RSEQ_CONFIGURATION tells it.
struct RseqRegistration {
    std::uint64_t area = 0;
    std::uint32_t size = 0;
    std::uint32_t signature = 0;
    std::uint64_t criticalSection = 0;  ///< rseq_cs pointer found in the area; 0 if none
};

/// Asks one thread what only it can tell.
class ThreadStateQuery {
public:
    /// `compat`: a thread of a 32-bit process; `data` has to be within its reach then.
    ThreadStateQuery(bool compat, pie::StepList& steps, pie::RemoteData& data);

    /// `core` must have its register part already. `name`: raw comm.
    void store(pie::RemoteData& answers, HostPid tid, const std::string& name,
               const std::optional<RseqRegistration>& rseq, CoreEntry& core, Arena& arena) const;

private:
    std::uint64_t clearTidAt_;
    std::uint64_t deathSignalAt_;
    std::uint64_t timerSlackAt_;
    std::uint64_t robustListAt_ = 0;  ///< of a 32-bit thread: its address and length; others are asked from outside
};

/// Steps of the thread itself, before its credentials change.
void restoreThreadState(const CoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

/// Addresses of the image that the kernel reads and writes at on its own, whenever it likes: the thread's id, its list
/// of robust futexes, its area of restartable sequences. They are the thread's own business as soon as it has no more
/// rights than in the image, so the steps come after its credentials. The area's pointer to a critical section has to
/// be zero by then (criticalSectionPointer()): the kernel would take the thread out of criu's code to where it says.
void restoreKernelAddresses(const CoreEntry& core, pie::StepList& steps);

/// Where the thread's area of restartable sequences points to the critical section it is in; 0 if it has no area. Where
/// a section is under way at the dump it is aborted then, so that the pointer means nothing any more.
[[nodiscard]] std::uint64_t criticalSectionPointer(const ThreadCoreEntry& thread) noexcept;

/// Throws Error unless the area of restartable sequences lies in memory that only the process itself writes to.
void requireOwnRseq(const ThreadCoreEntry& thread, const MmEntry& mm);

/// The kernel forgets the parent death signal when credentials change, so it comes after them.
void restoreDeathSignal(const ThreadCoreEntry& core, pie::StepList& steps);

}  // namespace criu::task
