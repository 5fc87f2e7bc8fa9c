// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::kernel {
class FdStore;
}

/// Functions for control groups: the cgroups of tasks in each hierarchy, and the properties of cgroups.
namespace criu::cgroup {

/// Joins names of controllers with commas, as in /proc/PID/cgroup.
std::string joined(const std::vector<std::string>& controllers);

/// Splits a text at each `separator`. Omits empty parts.
std::vector<std::string> split(std::string_view text, char separator);

/// Root directories of cgroup hierarchies. Each directory is opened when it is first needed.
class Hierarchies {
public:
    /// `yard` is a cgroup yard (--cgroup-yard): a directory in which each hierarchy is mounted, in a folder with the
    /// names of its controllers. If it is unset, criu mounts the hierarchies itself.
    explicit Hierarchies(std::optional<std::string> yard) : yard_(std::move(yard)) {}

    /// Returns the root directory of a hierarchy. This object owns the descriptor. `controllers` is that of
    /// kernel::openHierarchy(). Throws Error.
    int root(const std::string& controllers);

    /// Changes all descriptors to inherited descriptors.
    void inherit(kernel::FdStore& store);

private:
    std::optional<std::string> yard_;
    std::map<std::string, UniqueFd> roots_;
};

/// Returns the path of a cgroup relative to the root directory of the hierarchy; "." for the root.
std::string relative(const std::string& path);

/// Returns a name of a cgroup for messages.
[[nodiscard]] std::string label(const std::string& controllers, const std::string& path);

/// Opens a cgroup. `path` begins with a slash. Throws Error with the path.
UniqueFd openGroup(int root, const std::string& path);

/// Removes a cgroup if it has this inode. Retries while the kernel returns EBUSY, because tasks in the cgroup are
/// ending. Returns 0 or the errno.
int removeGroup(int root, const std::string& path, const Inode& inode);

/// Writes `text` to a file of a cgroup by one write(2). Throws Error.
void writeFile(int group, const std::string& name, std::string_view text);

}  // namespace criu::cgroup
