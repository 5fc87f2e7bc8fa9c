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
    /// Copies the addresses from the control page, so that processes can't change them any more.
    explicit RestorerAreas(const RestoreControl& control);

    /// Returns the restorer's area of one process. Throws Error if the process hasn't recorded an area, or if the area
    /// is too small or overlaps mappings of the images.
    [[nodiscard]] compel::InjectedMemory of(const model::Task& task) const;

private:
    std::size_t controlSize_;
    std::unordered_map<TreePid, AreaSlot> slots_;
};

/// Returns the address of the commit word in a restorer's area: it is in the page after the interpreter.
[[nodiscard]] std::uint64_t commitWordAt(const compel::InjectedMemory& area) noexcept;

/// Throws Error if a thread of a seized process isn't in the interpreter at `area`: parked threads sleep there, and a
/// thread at another address still executes code of criu.
void requireParked(const compel::FrozenProcess& process, const compel::InjectedMemory& area);

}  // namespace criu::engine
