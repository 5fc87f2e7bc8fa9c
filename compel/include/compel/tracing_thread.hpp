// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <functional>

namespace compel {

/// Runs `work` in a new thread, and throws its exception. Until `work` returns, the calling thread makes only the
/// ptrace(2) calls that the new thread requests. `work` may use all functions of this library, for threads that the
/// calling thread or the new thread has seized.
///
/// Use it for system calls that wait for another process. Such a call may prevent even a killed thread from ending. If
/// this thread were the tracer, its tasks would stay stopped: the kernel resumes traced tasks only when the seizing
/// thread has ended.
void workBesideTracer(const std::function<void()>& work);

/// Calls `function` in the tracing thread. For code that itself makes ptrace(2) calls. Inside workBesideTracer(), the
/// tracing thread is the caller of workBesideTracer(). Outside, it is the calling thread. Throws the exception of
/// `function`.
void inTracingThread(const std::function<void()>& function);

}  // namespace compel
