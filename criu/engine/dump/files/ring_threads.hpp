// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

namespace criu::engine {

struct TaskRing;

/// Examines the kernel threads that submit requests of rings (IORING_SETUP_SQPOLL), and stores them in the tasks.
/// Throws Error if a restored ring couldn't have such a thread: the thread belongs to another process, or has other
/// credentials than the process. Changes nothing.
void examineRingThreads(const std::vector<TaskRing>& rings);

}  // namespace criu::engine
