// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

namespace criu {
class Log;
}

namespace criu::cgroup {

/// Frozen cgroups of version 2 that criu thaws while it restores processes in them: in a frozen cgroup, the kernel lets
/// no process execute an instruction, not even those of criu. The destructor freezes the cgroups again.
class ThawedGroups {
public:
    explicit ThawedGroups(Log& log) noexcept : log_(log) {}
    ~ThawedGroups();
    ThawedGroups(const ThawedGroups&) = delete;
    ThawedGroups& operator=(const ThawedGroups&) = delete;

    /// Thaws the cgroup at `path` of version 2 and those above it. `root` is the root of the hierarchy, and
    /// `controllers` are those of a hierarchy of version 1. Throws Error if a frozen cgroup contains processes, because
    /// criu would resume them. Also throws if the freezer of version 1 has frozen the cgroup.
    void thaw(int root, const std::string& controllers, const std::string& path);
    /// Lets `criu rescue` freeze an open cgroup if the tree runs and criu was killed before it froze the cgroup. Throws
    /// Error.
    void recordFrozenLater(int group) const;
    /// Returns true if no cgroup is thawed.
    [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }
    /// Freezes the cgroups again. All processes must be stopped by criu. Throws Error.
    void freeze();

private:
    struct Group {
        UniqueFd fd;
        std::string path;
    };
    void record(std::string_view kind, int group) const;

    Log& log_;
    std::vector<Group> groups_;
};

}  // namespace criu::cgroup
