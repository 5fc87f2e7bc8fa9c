// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>

#include "criu/base/stop_request.hpp"

namespace criu::engine {

/// Runs `work` in a child process, which the caller only watches. Killing this process (even with SIGKILL, which nobody
/// can handle) makes the child stop what it does and undo it: a tracer that just vanished would leave tasks in the
/// midst of code that isn't theirs. Stop requests are passed on. Returns the child's exit status; `work`, in the child,
/// returns it and must not throw.
int runGuarded(StopRequest& stop, const std::function<int()>& work);

}  // namespace criu::engine
