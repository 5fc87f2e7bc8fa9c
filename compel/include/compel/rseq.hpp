// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

namespace compel {

/// Aborts a restartable sequence (rseq(2)) of the stopped thread, as the kernel does when it preempts a thread. If
/// `registers` are inside a sequence, sets them to its abort handler and returns true. Clears rseq_cs of struct rseq in
/// any case, as the kernel does when it resumes a thread outside of a sequence.
///
/// Must be called before a stopped thread runs other code. If that code lies inside the registered sequence, the kernel
/// would send the thread to the task's abort handler. Must also be called where registers are dumped or outlive such a
/// run: the kernel wouldn't abort a sequence that is resumed in its middle. A second call has no effect. Throws Error.
/// Layout: include/uapi/linux/rseq.h.
bool fixRseqIp(const Tracee& tracee, const RemoteMemory& memory, Registers& registers);

}  // namespace compel
