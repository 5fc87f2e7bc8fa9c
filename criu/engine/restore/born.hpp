// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/birth/restored_pids.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/model/pid_map.hpp"

namespace criu::engine {

/// Third phase of a restore. The root exists, the coordinator has filled the namespaces, and the root creates the other
/// processes. If the constructor fails (Error), or the destructor runs before the processes were released, criu kills
/// and reaps all of them.
class BornRestore {
public:
    explicit BornRestore(PreparedRestore& preparation);
    ~BornRestore();
    BornRestore(const BornRestore&) = delete;
    BornRestore& operator=(const BornRestore&) = delete;

    PlannedRestore& planned;
    PreparedRestore& prepared;
    const std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    RestoredPids processes;
    PidMap pids;  ///< processes of the tree that existed when refresh() was called last

    /// Calls `wait` with a time limit in milliseconds until `wait` returns Reached. Throws Error if a process fails or
    /// ends, or if the user stops criu.
    void await(const std::function<RestoreControl::Outcome(unsigned milliseconds)>& wait);

private:
    void fillNamespaces();
    void notifyOfMounts();

    /// Threads of device subsystems that fill device memory while criu restores processes. They end with this phase,
    /// because they use objects of earlier phases.
    std::unique_ptr<device::DeviceWork> deviceWork_;
};

}  // namespace criu::engine
