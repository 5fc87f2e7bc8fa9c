// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {

/// Makes the calling child the leader of a new process group. A signal to the group of the shell's job (`kill -9 %1`,
/// `timeout -s KILL`) then ends only the parent, and the child survives to complete or revert its work. The parent must
/// pass on signals of the terminal, which don't reach the child.
void becomeProcessGroupLeader() noexcept;

}  // namespace criu
