// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/tracee.hpp>

#include <sys/types.h>

namespace criu::engine {

/// Stopped clone, which criu traces from its creation. The destructor kills the clone; if criu ends, the kernel kills
/// it.
class StoppedClone {
public:
    /// Waits until the clone is stopped before its first instruction. Throws Error or compel::Error. `creator`: options
    /// of the thread that has created the clone (SeizeOptions::stopAtClone).
    StoppedClone(pid_t tid, compel::SeizeOptions creator);
    ~StoppedClone();
    StoppedClone(const StoppedClone&) = delete;
    StoppedClone& operator=(const StoppedClone&) = delete;

    [[nodiscard]] compel::Tracee& tracee() noexcept { return tracee_; }

private:
    void kill() noexcept;

    compel::Tracee tracee_;
};

}  // namespace criu::engine
