// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <string>

#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu {
class Journal;
}

namespace criu::cgroup {

/// Cgroup of version 1 or 2 whose tasks criu stops by the kernel's freezer (--freeze-cgroup). The destructor restores
/// the state that the cgroup had before, unless release() was called.
class Freezer {
public:
    /// Freezes the cgroup at `path` with all cgroups below it, and waits until it is frozen. After `timeout` (0: no
    /// limit), restores the previous state and throws Error.
    /// `journal`: gets the line "freeze" before the cgroup is frozen; may be null.
    /// Opens a cgroup that can be frozen. Throws Error.
    [[nodiscard]] static UniqueFd open(const std::string& path);
    Freezer(const std::string& path, std::chrono::seconds timeout, StopRequest& stop, Journal* journal = nullptr);
    ~Freezer();
    Freezer(const Freezer&) = delete;
    Freezer& operator=(const Freezer&) = delete;

    /// Thaws the cgroup. Each task then enters the ptrace stop that the tracer has requested.
    void thaw();

    /// Returns true if the cgroup was frozen before criu froze it.
    [[nodiscard]] bool wasFrozen() const noexcept { return wasFrozen_; }
    /// Returns true if the cgroup is in the unified hierarchy.
    [[nodiscard]] bool unified() const noexcept { return unified_; }

    /// Restores the previous state. Must be called before criu resumes traced tasks, so that no task of a frozen cgroup
    /// runs. Throws Error.
    void restore();

    /// Leaves the cgroup thawed, because its tasks have ended.
    void release() noexcept { wasFrozen_ = false; }

    /// Thaws the cgroup with the open directory `group` if it is frozen. Returns false if it wasn't. Throws Error.
    static bool thawOther(int group);
    /// Freezes the cgroup with the open directory `group`, without a wait. Returns false if it was frozen.
    /// Throws Error.
    static bool freezeOther(int group);

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
