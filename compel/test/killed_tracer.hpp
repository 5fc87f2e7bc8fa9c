// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

/// Tracers that die in the middle of their work. Every function calls its `work` in a child process.
namespace compel::test {

/// Calls `work`, and ends the child without cleaning up.
void dieAfter(const std::function<void()>& work);

/// Sends SIGWINCH to the calling process, which ignores it. Marks where dieAt() begins to count.
void beginCount();
/// Calls `work`, and kills the child at its system call stop `number`, counted from 0. Counts from the start of `work`,
/// or from beginCount() with `marked`. Returns false if the child ended before this stop. If `work` throws, the test
/// fails.
bool dieAt(unsigned number, const std::function<void()>& work, bool marked = false);

/// Calls `work` again and again, and kills the child at another system call each time. Each time, all threads of the
/// process `pid` must have their own signal mask and signals again, and must run untraced.
void dieEverywhere(pid_t pid, const std::function<void()>& work);

[[nodiscard]] std::vector<pid_t> threadsOf(pid_t pid);

}  // namespace compel::test
