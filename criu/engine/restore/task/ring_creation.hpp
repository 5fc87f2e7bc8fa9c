// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <cstdint>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/engine/restore/task/watched_rings.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/task/limits.hpp"
#include "images/eventpoll.fwd.hpp"

namespace compel {
class Injection;
struct InjectedMemory;
}  // namespace compel

namespace criu {
class Log;
}

namespace criu::files {
class PolledRing;
}

namespace criu::engine {

/// Data for the creation of the rings of one process.
struct RingCreation {
    const model::Task& task;
    /// Rings of the process. Rings that share the kernel thread of another ring follow this ring.
    std::vector<const files::PolledRing*> rings;
    const std::vector<WatchedRing>& watched;  ///< all targets of epoll files of the tree that may be rings
    task::LimitsAtBirth limits;
    Log& log;
};

/// Creates the rings in place of the placeholders, and sets the limits of ringLimits(). The seized process must have
/// its dumped credentials, and all threads of the tree must exist. `area`: the restorer's area, which `injection` uses.
/// Throws Error.
void createRings(const RingCreation& plan, compel::FrozenProcess& process, compel::Injection& injection,
                 const compel::InjectedMemory& area);

/// Mask of the limits that must not have their dumped values before createRings() (bit N: limit N): RLIMIT_AS,
/// RLIMIT_NOFILE and RLIMIT_MEMLOCK.
[[nodiscard]] std::uint32_t ringLimits() noexcept;

}  // namespace criu::engine
