// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"

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
    void store(pie::RemoteData& answers, pid_t tid, const std::string& name,
               const std::optional<RseqRegistration>& rseq, CoreEntry& core, Arena& arena) const;

private:
    std::uint64_t clearTidAt_;
    std::uint64_t deathSignalAt_;
    std::uint64_t timerSlackAt_;
    std::uint64_t robustListAt_ = 0;  ///< of a 32-bit thread: its address and length; others are asked from outside
};

/// Steps of the thread itself, before its credentials change.
void restoreThreadState(const CoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

/// The kernel forgets the parent death signal when credentials change, so it comes after them.
void restoreDeathSignal(const ThreadCoreEntry& core, pie::StepList& steps);

}  // namespace criu::task
