// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <vector>

#include "criu/engine/fwd.hpp"
#include "criu/model/process_tree.hpp"

namespace compel {
class Injection;
struct InjectedMemory;
}  // namespace compel

namespace criu::files {
class PolledRing;
}

namespace criu::engine {

/// Rings of one process whose requests a kernel thread submits (files::PolledRing). The leader of the seized process
/// creates them, because only a thread of the process gets the kernel thread.
class PolledRings {
public:
    /// `run` and `task` must outlive this object.
    PolledRings(const RestoreRun& run, const model::Task& task);

    [[nodiscard]] bool empty() const noexcept { return rings_.empty(); }

    /// Mask of the limits that must not have their dumped values before create() (bit N: limit N): RLIMIT_AS,
    /// RLIMIT_NOFILE and RLIMIT_MEMLOCK.
    [[nodiscard]] static std::uint32_t laterLimits() noexcept;

    /// Creates the rings in place of the placeholders, and sets the limits of laterLimits(). The process must have its
    /// dumped credentials, and all threads of the tree must exist. `area`: the restorer's area, which `injection` uses.
    /// Throws Error.
    void create(compel::FrozenProcess& process, compel::Injection& injection, const compel::InjectedMemory& area) const;

private:
    class Creation;

    const RestoreRun& run_;
    const model::Task& task_;
    std::vector<const files::PolledRing*> rings_;  ///< rings with threads of their own before rings that share a thread
};

}  // namespace criu::engine
