// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/attributes.hpp"

namespace criu::kernel {

/// Opens the root directory of a cgroup hierarchy, even if the hierarchy isn't mounted. The descriptor keeps a private
/// mount (fsopen(2), Linux 5.2; needs CAP_SYS_ADMIN). `controllers` is the name in /proc/PID/cgroup, such as
/// "cpu,cpuacct" or "name=systemd", or "" for the unified hierarchy. If a version 1 hierarchy doesn't exist, and no
/// other hierarchy uses its controllers, the kernel creates it.
UniqueFd openHierarchy(const std::string& controllers);

/// Reads /proc/PID/cgroup from the cgroup namespace of the process. The paths are relative to the cgroup roots of that
/// namespace.
std::vector<CgroupLine> readCgroupsInside(const ProcPid& process);

/// Moves the calling process into the cgroups of another process, in each hierarchy where they differ. Throws Error if
/// the kernel refuses a move; moves in earlier hierarchies remain.
void enterCgroupsOf(const ProcPid& process);

}  // namespace criu::kernel
