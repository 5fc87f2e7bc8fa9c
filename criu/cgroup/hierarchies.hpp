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

/// Control groups: where tasks are in each hierarchy, and the groups themselves.
namespace criu::cgroup {

/// Names of controllers as one string, as in /proc/PID/cgroup.
std::string joined(const std::vector<std::string>& controllers);

/// The words of a text that has `separator` between them, without empty ones.
std::vector<std::string> split(std::string_view text, char separator);

/// Root directories of cgroup hierarchies, each opened when it is first asked for.
class Hierarchies {
public:
    /// `yard`: a directory that has every hierarchy mounted in a folder named after its controllers (--cgroup-yard);
    /// without it criu mounts them for itself.
    explicit Hierarchies(std::optional<std::string> yard) : yard_(std::move(yard)) {}

    /// `controllers`: see kernel::openHierarchy(). The descriptor stays ours. Throws Error.
    int root(const std::string& controllers);

    /// Moves all descriptors to where they are in nobody's way.
    void inherit(kernel::FdStore& store);

private:
    std::optional<std::string> yard_;
    std::map<std::string, UniqueFd> roots_;
};

/// "." for the root, else the path without its slash: relative to the hierarchy's root directory.
std::string relative(const std::string& path);

/// Opens a group; `path` begins with a slash. Throws Error naming hierarchy and path.
UniqueFd openGroup(int root, const std::string& path);

/// Writes to a file of a group, in one go.
void writeFile(int group, const std::string& name, std::string_view text);

}  // namespace criu::cgroup
