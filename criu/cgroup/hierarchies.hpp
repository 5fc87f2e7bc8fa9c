// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

namespace criu::kernel {
class FdStore;
}

/// Control groups: the groups of tasks in each hierarchy, and the properties of groups.
namespace criu::cgroup {

/// Joins names of controllers by commas, as in /proc/PID/cgroup.
std::string joined(const std::vector<std::string>& controllers);

/// Splits a text at each `separator`, without empty parts.
std::vector<std::string> split(std::string_view text, char separator);

/// Root directories of cgroup hierarchies, each opened at its first use.
class Hierarchies {
public:
    /// `yard`: directory with each hierarchy mounted in a folder named by its controllers (--cgroup-yard). Without it
    /// criu mounts the hierarchies itself.
    explicit Hierarchies(std::optional<std::string> yard) : yard_(std::move(yard)) {}

    /// Returns the root directory of a hierarchy; this object owns the descriptor. `controllers`: see
    /// kernel::openHierarchy(). Throws Error.
    int root(const std::string& controllers);

    /// Makes all descriptors inherited descriptors.
    void inherit(kernel::FdStore& store);

private:
    std::optional<std::string> yard_;
    std::map<std::string, UniqueFd> roots_;
};

/// Returns a group's path relative to the hierarchy's root directory, "." for the root.
std::string relative(const std::string& path);

/// Opens a group; `path` begins with a slash. Throws Error with the path.
UniqueFd openGroup(int root, const std::string& path);

/// Writes `text` to a file of a group by one write(2). Throws Error.
void writeFile(int group, const std::string& name, std::string_view text);

}  // namespace criu::cgroup
