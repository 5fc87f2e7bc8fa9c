// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "criu/engine/restore/birth/restored_pids.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/model/pid_map.hpp"

namespace criu::device {
class DeviceWork;
}

namespace criu::engine {
class PreparedRestore;
}

namespace criu::engine {

/// The third phase of a restore: the first process exists, in namespaces that have been filled from outside, and
/// nothing holds it up any more; it creates the others. If the constructor fails (Error), or the object is destroyed
/// before the processes are released, all of them are killed and reaped.
class BornRestore {
public:
    explicit BornRestore(PreparedRestore& preparation);
    ~BornRestore();
    BornRestore(const BornRestore&) = delete;
    BornRestore& operator=(const BornRestore&) = delete;

    PreparedRestore& prepared;
    const std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    RestoredPids processes;
    PidMap pids;  ///< of those that there were when it was refreshed

    /// Waits until processes have come as far as `wait` asks the control page for, in some milliseconds. Throws Error
    /// if one of them fails or ends, or the user wants to stop.
    void await(const std::function<RestoreControl::Outcome(unsigned milliseconds)>& wait);

private:
    void fillNamespaces();

    /// What drivers do beside the processes ends with this phase: it uses what earlier ones have made for it.
    std::unique_ptr<device::DeviceWork> deviceWork_;
};

}  // namespace criu::engine
