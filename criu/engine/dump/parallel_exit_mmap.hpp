// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>

namespace criu::engine {

struct FrozenTask;

/// Kills the processes with much memory, and frees their memory with several threads of criu. The processes end only
/// after a second kill. Otherwise the last thread of each process would free the memory alone; that took a third of a
/// dump of 16 GiB. Does nothing with fewer than 4 cores.
///
/// After a failure, the processes free their memory when they end.
void killAndFreeMemory(std::span<FrozenTask* const> tasks, unsigned cores) noexcept;

}  // namespace criu::engine
