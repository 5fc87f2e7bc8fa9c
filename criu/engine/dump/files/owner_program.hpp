// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/sockets/owner_program.hpp"

namespace criu::engine {

class FrozenTree;

/// Returns the function by which fd kinds make a process execute a program. `tree` must outlive it. `mayInject`: false
/// if injected code could harm a process; the function then returns false.
[[nodiscard]] sockets::OwnerProgram makeOwnerProgram(FrozenTree& tree, bool mayInject);

}  // namespace criu::engine
