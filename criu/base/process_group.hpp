// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {

/// Makes the calling child leader of a new process group. A signal to the job's process group (`kill -9 %1` in a
/// shell, `timeout -s KILL`) then ends only its parent. The child survives to revert or complete its work. Signals
/// of the terminal don't reach it either; the parent passes them on.
void becomeProcessGroupLeader() noexcept;

}  // namespace criu
