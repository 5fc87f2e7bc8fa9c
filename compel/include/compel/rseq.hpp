// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

namespace compel {

/// Aborts a restartable sequence (rseq(2)) of the stopped thread, as the kernel does when it preempts a thread. If
/// `registers` are inside a sequence, moves them to the sequence's abort handler and returns true. Always clears
/// rseq_cs of struct rseq, as the kernel does when it resumes a thread outside of a sequence.
///
/// Call it before a stopped thread runs other code, and before a dump stores the registers. Otherwise a thread that
/// continues in the middle of a sequence wouldn't abort it. If the other code were inside the sequence, the kernel
/// would even move the thread to the task's abort handler. A second call has no effect. Throws Error.
/// include/uapi/linux/rseq.h of Linux has the layout.
bool fixRseqIp(const Tracee& tracee, const RemoteMemory& memory, Registers& registers);

}  // namespace compel
