// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <span>

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Restorer that is still mapped in a seized process.
struct KeptRestorer {
    compel::FrozenProcess& process;
    const compel::InjectedMemory& area;
};

/// Unmaps restorers by instructions of the processes' own code: if criu is killed, the processes still have these
/// instructions. The processes make their calls at the same time. Only warns of a failure, because the tree is
/// committed.
void unmapRestorers(std::span<const KeptRestorer> restorers, Log& log);

}  // namespace criu::engine
