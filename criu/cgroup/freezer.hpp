// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <string>

#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::cgroup {

/// A cgroup whose tasks are stopped by the kernel's freezer (--freeze-cgroup), of either version. Unless release() is
/// called its destruction puts back the state it was found in.
class Freezer {
public:
    /// Stops the tasks of the group at `path` and of those below it, and waits until they have. Throws Error, with the
    /// old state put back, when that takes longer than `timeout` (0: no limit).
    Freezer(const std::string& path, std::chrono::seconds timeout, StopRequest& stop);
    ~Freezer();
    Freezer(const Freezer&) = delete;
    Freezer& operator=(const Freezer&) = delete;

    /// Lets the tasks run: into the stops that a tracer has asked for meanwhile.
    void thaw();

    /// Whether they were stopped before.
    [[nodiscard]] bool wasFrozen() const noexcept { return wasFrozen_; }
    /// Whether it is a group of the unified hierarchy.
    [[nodiscard]] bool unified() const noexcept { return unified_; }

    /// Puts back the state the group was found in: before traced tasks are let go, so that none of a frozen group runs
    /// for a moment. Throws Error.
    void restore();

    /// The tasks are gone.
    void release() noexcept { wasFrozen_ = false; }

private:
    void set(bool frozen);
    void restoreQuietly() noexcept;
    [[nodiscard]] bool isFrozen() const;

    UniqueFd group_;
    std::string path_;
    bool unified_ = false;
    bool wasFrozen_ = false;
    bool frozen_ = false;
};

}  // namespace criu::cgroup
