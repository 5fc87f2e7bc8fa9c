// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>

namespace criu::engine {

struct FrozenTask;

/// Kills those of these processes that have much memory, and frees it by every one of so many cores. They end when they
/// are killed once more. The kernel frees the memory of a process by the thread that ends last: that took a third of a
/// dump of 16 GiB by 16 cores. Two cores leave it to that thread: they were no faster.
///
/// It is an attempt: where it can't be done the processes are as they were, or do that themselves when they end.
void killAndFreeMemory(std::span<FrozenTask* const> tasks, unsigned cores) noexcept;

}  // namespace criu::engine
