// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>

namespace criu::engine {

struct FrozenTask;

/// Kills the processes that have much memory, and frees it with several threads. The processes end when they are killed
/// a second time. The kernel would free the memory in the last thread of each process: that took a third of a dump of
/// 16 GiB with 16 processors. With fewer than 4 cores this does nothing, as it gains nothing.
///
/// A failure changes nothing: the processes free their memory when they end.
void killAndFreeMemory(std::span<FrozenTask* const> tasks, unsigned cores) noexcept;

}  // namespace criu::engine
