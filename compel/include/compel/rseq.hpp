// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

namespace compel {

/// Does to `registers` of the stopped thread what the kernel does to a preempted one: if it is inside a restartable
/// sequence (rseq(2)), it goes on at the sequence's abort handler. Returns whether it was.
///
/// Needed wherever a thread's registers are to outlive a stop in which it ran something else or in which they are
/// dumped: the kernel drops its note of the critical section (struct rseq, rseq_cs) as soon as it resumes the thread
/// outside of it, so that afterwards nothing would abort a sequence that is resumed in its middle. The kernel's note
/// itself needn't be cleared: it does that at the next resume, since the abort handler lies outside the sequence.
/// A second call finds nothing left to do. Layout: include/uapi/linux/rseq.h.
bool fixRseqIp(const Tracee& tracee, const RemoteMemory& memory, Registers& registers);

}  // namespace compel
