// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <functional>

namespace compel {

/// The kernel ties tracing to the thread that seized, and a traced process runs on by itself only when that thread has
/// ended. A system call that waits for another process may keep a thread from ending even when it has been killed. So
/// whoever makes such calls while others are traced does that in another thread.
///
/// Runs `work` in a new thread. Until it returns, or throws, what is then thrown here, the calling thread does nothing
/// but make the calls of ptrace(2) that the new one needs: all functions of this library may be used there, for
/// threads that the caller has seized as well as for others.
void workBesideTracer(const std::function<void()>& work);

/// Has the thread that traces call `function`, for code that makes calls of ptrace(2) of its own: that is the one that
/// is in workBesideTracer(), or the caller itself if it isn't the thread of such work. Throws what `function` throws.
void inTracingThread(const std::function<void()>& function);

}  // namespace compel
