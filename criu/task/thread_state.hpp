// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"
#include "images/mm.fwd.hpp"

/// Functions for other state of a thread: name, robust futex list, clear_child_tid address, rseq area and parent death
/// signal.
namespace criu::model {
struct Task;
}

namespace criu::task {

/// Returns true if the main thread of a process has ended in the images while other threads live: its core image has no
/// registers. Throws Error if such a process can't be restored.
[[nodiscard]] bool hasEndedLeader(const model::Task& task);

/// Registration of restartable sequences, with the values of PTRACE_GET_RSEQ_CONFIGURATION.
struct RseqRegistration {
    std::uint64_t area = 0;
    std::uint32_t size = 0;
    std::uint32_t signature = 0;
    std::uint64_t criticalSection = 0;  ///< value of rseq_cs in the area; 0 if the thread is in no critical section
};

/// Query of state that only the thread itself can read.
class ThreadStateQuery {
public:
    /// `compat` is true for a thread of a 32-bit process; `data` must then have a 32-bit address.
    ThreadStateQuery(bool compat, pie::StepList& steps, pie::RemoteData& data);

    /// Stores the state in `core`, which must already contain the registers. `name` is the content of the file comm.
    void store(pie::RemoteData& answers, HostPid tid, const std::string& name,
               const std::optional<RseqRegistration>& rseq, CoreEntry& core, Arena& arena) const;

private:
    std::uint64_t clearTidAt_;
    std::uint64_t deathSignalAt_;
    std::uint64_t timerSlackAt_;
    /// Address of the head and length of a 32-bit thread's robust list; 0 for other threads, whose list criu reads by
    /// get_robust_list(2).
    std::uint64_t robustListAt_ = 0;
};

/// Adds steps that the thread itself runs before its credentials change.
void restoreThreadState(const CoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

/// Adds steps that register addresses at which the kernel reads and writes at any time: clear_child_tid word, robust
/// futex list and rseq area. These steps run after the thread has its credentials. Otherwise the image could make the
/// kernel write to memory of a thread with criu's capabilities.
/// At that time, the rseq area must contain no pointer to a critical section (criticalSectionPointer()). Otherwise the
/// kernel would move the thread out of criu's code to the abort address.
void restoreKernelAddresses(const CoreEntry& core, pie::StepList& steps);

/// Returns the address of the pointer to a critical section in the thread's rseq area; 0 if the thread has no area. A
/// dump aborts a critical section in progress, so the pointer has no meaning afterwards.
[[nodiscard]] std::uint64_t criticalSectionPointer(const ThreadCoreEntry& thread) noexcept;

/// Throws Error if the rseq area isn't in writable private memory of the process, which only this process can change.
void requireOwnRseq(const ThreadCoreEntry& thread, const MmEntry& mm);

/// Adds a step that sets the parent death signal. It must run after the credentials are set, because the kernel clears
/// the signal when they change.
void restoreDeathSignal(const ThreadCoreEntry& core, pie::StepList& steps);

}  // namespace criu::task
