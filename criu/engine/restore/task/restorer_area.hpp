// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/injection.hpp>
#include <compel/process.hpp>

#include <unordered_map>
#include <vector>

#include "criu/engine/restore/restore_control.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {

/// Addresses of the restorer in all parked processes.
class RestorerAreas {
public:
    /// Copies the slots of the control page, so later writes of processes have no effect.
    explicit RestorerAreas(const RestoreControl& control);

    /// Returns the area of one process. Throws Error if the process has recorded none, or an impossible one. The area
    /// must hold the restorer and must not overlap mappings of the images.
    [[nodiscard]] compel::InjectedMemory of(const model::Task& task) const;

private:
    std::size_t controlSize_;
    std::unordered_map<TreePid, AreaSlot> slots_;
};

/// Throws Error unless every thread of a seized process is in its area's interpreter, where it sleeps until the
/// coordinator continues. A thread elsewhere still executes code of criu.
void requireParked(const compel::FrozenProcess& process, const compel::InjectedMemory& area);

}  // namespace criu::engine
