// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {

/// The calling process, a child, becomes a process group of its own. Whoever kills a whole job by its process group (a
/// shell's `kill -9 %1`, `timeout -s KILL`) reaches its parent only, which it outlives to undo or to complete what
/// others depend on. Signals of the terminal don't reach it either: the parent passes them on.
void becomeProcessGroupLeader() noexcept;

}  // namespace criu
