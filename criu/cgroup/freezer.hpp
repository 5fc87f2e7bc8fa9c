// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <string>

#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::cgroup {

/// A cgroup of version 1 or 2 whose tasks the kernel's freezer stops (--freeze-cgroup). The destructor restores the
/// group's earlier state unless release() was called.
class Freezer {
public:
    /// Freezes the group at `path` with all groups below it, and waits until it is frozen. Throws Error after `timeout`
    /// (0: no limit), with the earlier state restored.
    Freezer(const std::string& path, std::chrono::seconds timeout, StopRequest& stop);
    ~Freezer();
    Freezer(const Freezer&) = delete;
    Freezer& operator=(const Freezer&) = delete;

    /// Thaws the group. Each task runs into the stop that the tracer has requested.
    void thaw();

    /// True if the group was frozen before.
    [[nodiscard]] bool wasFrozen() const noexcept { return wasFrozen_; }
    /// True if the group is in the unified hierarchy.
    [[nodiscard]] bool unified() const noexcept { return unified_; }

    /// Restores the earlier state. Must precede the resume of traced tasks, so that no task of a frozen group runs.
    /// Throws Error.
    void restore();

    /// Leaves the group thawed, because its tasks have ended.
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
