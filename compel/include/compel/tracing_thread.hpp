// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <functional>

namespace compel {

/// Runs `work` in a new thread, and passes on its exception. Until `work` returns, the calling thread only makes the
/// ptrace(2) calls that the new thread needs. All functions of this library may be used in `work`, for threads that
/// either has seized.
///
/// The kernel ties tracing to the seizing thread, and a traced process resumes by itself only when that thread has
/// ended. A system call that waits for another process may keep even a killed thread from ending. A tracer therefore
/// makes such calls in another thread.
void workBesideTracer(const std::function<void()>& work);

/// Calls `function` in the tracing thread, for code that makes its own ptrace(2) calls. The tracing thread is the
/// caller of workBesideTracer(), or the calling thread outside of such work. Throws the exception of `function`.
void inTracingThread(const std::function<void()>& function);

}  // namespace compel
