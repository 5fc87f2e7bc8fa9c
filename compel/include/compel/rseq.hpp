// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

namespace compel {

/// Does to the stopped thread what the kernel does to a preempted one: if `registers` are inside of a restartable
/// sequence (rseq(2)), it goes on at the sequence's abort handler. Returns whether they were. In any case there is no
/// sequence any more (struct rseq, rseq_cs): the kernel forgets it as well, as soon as it resumes the thread outside.
///
/// Needed before a stopped thread is made to run anything else. The kernel doesn't know whose code that is: if it lies
/// where the task has said that a sequence is, the thread is taken out of it to the task's abort handler. And needed
/// wherever registers are dumped or outlive such a run: nothing would abort a sequence that is resumed in its middle.
/// A second call finds nothing left to do. Throws Error. Layout: include/uapi/linux/rseq.h.
bool fixRseqIp(const Tracee& tracee, const RemoteMemory& memory, Registers& registers);

}  // namespace compel
