// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"
#include "images/siginfo.fwd.hpp"

/// Signal actions, pending signals, alternate stacks.
namespace criu::task {

/// Queries a task for the actions of all its signals, which only the task itself can read.
class SignalActionQuery {
public:
    /// `compat`: a 32-bit process, to whose handlers the kernel passes 32-bit frames.
    SignalActionQuery(bool compat, pie::StepList& steps, pie::RemoteData& data);

    /// Called after the run: fills tc.sigactions.
    void store(pie::RemoteData& answers, TaskCoreEntry& core, Arena& arena) const;

private:
    bool compat_;
    std::uint64_t at_;
};

/// Queries one thread for its alternate signal stack.
class SignalStackQuery {
public:
    SignalStackQuery(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers, ThreadCoreEntry& core, Arena& arena) const;

private:
    std::uint64_t at_;
};

/// Stores raw siginfo records (128 bytes each, as PTRACE_PEEKSIGINFO returns them) as an image's queue.
/// `pending`: all signals that are pending there. Those without siginfo, for which the queue of their user had no room
/// (RLIMIT_SIGPENDING), get what the kernel tells the process of them: SI_USER, sent by process 0.
SignalQueueEntry* storeSignalQueue(std::span<const std::vector<std::byte>> queue, std::uint64_t pending, Arena& arena);

/// Returns true for a siginfo record that can't be queued while the queue of the user is full (RLIMIT_SIGPENDING), or
/// only without its content. The kernel queues standard signals of kill(2) and of its own beyond the limit
/// (__send_signal_locked()).
[[nodiscard]] bool needsRoomInQueue(const ProtobufCBinaryData& siginfo);

/// Adds steps that set the actions of all signals. The process must have all signals blocked.
void restoreSignalActions(const TaskCoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

/// Adds a step that sets the alternate signal stack of the calling thread.
void restoreSignalStack(const ThreadCoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

/// Adds steps that queue signals to the calling thread, in the process' queue (`shared`) or the thread's.
void restoreSignalQueue(const SignalQueueEntry* queue, bool shared, pid_t pid, pid_t tid, pie::StepList& steps,
                        pie::RemoteData& data);

}  // namespace criu::task
