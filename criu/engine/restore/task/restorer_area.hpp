// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/injection.hpp>
#include <compel/process.hpp>

#include <unordered_map>
#include <vector>

#include "criu/engine/restore/restore_control.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {

/// Where the parked processes of a restore have what is left of criu in them.
class RestorerAreas {
public:
    /// Looks at the control page once: what processes write there afterwards has no effect.
    explicit RestorerAreas(const RestoreControl& control);

    /// The area of one process. Throws Error if it has told of none, or of one that can't be: it has to be large enough
    /// for what belongs there, and beside all memory of the image.
    [[nodiscard]] compel::InjectedMemory of(const model::Task& task) const;

private:
    std::size_t controlSize_;
    std::unordered_map<TreePid, AreaSlot> slots_;
};

/// Throws Error unless every thread of a seized process stands in the interpreter of its area, where it sleeps until
/// the master takes it further: one that is elsewhere isn't done with criu's own code.
void requireParked(const compel::FrozenProcess& process, const compel::InjectedMemory& area);

}  // namespace criu::engine
