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

/// Functions for signal actions, pending signals and alternate stacks.
namespace criu::task {

/// Query of the actions of all signals, which only the task itself can read.
class SignalActionQuery {
public:
    /// `compat` is true for a 32-bit process, to whose handlers the kernel passes 32-bit frames.
    SignalActionQuery(bool compat, pie::StepList& steps, pie::RemoteData& data);

    /// Stores the actions in core.tc.sigactions. Called after the steps have run.
    void store(pie::RemoteData& answers, TaskCoreEntry& core, Arena& arena) const;

private:
    bool compat_;
    std::uint64_t at_;
};

/// Query of the alternate signal stack of one thread.
class SignalStackQuery {
public:
    SignalStackQuery(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers, ThreadCoreEntry& core, Arena& arena) const;

private:
    std::uint64_t at_;
};

/// Returns an image's queue with raw siginfo records, each of 128 bytes, as PTRACE_PEEKSIGINFO returns them. `pending`
/// is the mask of all signals that are pending in the same queue.
/// A pending signal has no record if its user's queue was full (RLIMIT_SIGPENDING). For such a signal, it stores what
/// the kernel reports to the process: SI_USER, sent by process 0.
SignalQueueEntry* storeSignalQueue(std::span<const std::vector<std::byte>> queue, std::uint64_t pending, Arena& arena);

/// Returns true if the kernel can't queue a siginfo record, or loses its content, while the queue of the user is full
/// (RLIMIT_SIGPENDING). Beyond this limit, the kernel still queues standard signals of kill(2) and its own signals
/// (__send_signal_locked()).
[[nodiscard]] bool needsRoomInQueue(const ProtobufCBinaryData& siginfo);

/// Adds steps that set the actions of all signals. All signals of the process must be blocked.
void restoreSignalActions(const TaskCoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

/// Adds a step that sets the alternate signal stack of the calling thread.
void restoreSignalStack(const ThreadCoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

/// Adds steps by which the calling thread queues signals: to the queue of its process if `shared` is true, or to its
/// own queue.
void restoreSignalQueue(const SignalQueueEntry* queue, bool shared, pid_t pid, pid_t tid, pie::StepList& steps,
                        pie::RemoteData& data);

}  // namespace criu::task
