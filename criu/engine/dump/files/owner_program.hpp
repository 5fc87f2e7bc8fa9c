// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/sockets/owner_program.hpp"

namespace criu {
class Journal;
}

namespace criu::engine {

class FrozenTree;

/// Returns the function by which fd kinds make a process execute a program. `tree` must outlive it. `mayInject`: false
/// if injected code could harm a process; the function then returns false. `journal`: gets the process before each
/// injection; must outlive the function.
[[nodiscard]] sockets::OwnerProgram makeOwnerProgram(FrozenTree& tree, bool mayInject, Journal& journal);

}  // namespace criu::engine
