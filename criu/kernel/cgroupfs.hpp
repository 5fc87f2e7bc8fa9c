// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/attributes.hpp"

namespace criu::kernel {

/// Opens the root directory of a cgroup hierarchy, even if it isn't mounted. The descriptor holds a private mount
/// (fsopen(2), Linux 5.2; needs CAP_SYS_ADMIN).
/// `controllers` is the name in /proc/PID/cgroup: "cpu,cpuacct", "name=systemd", "" for the unified hierarchy. The
/// kernel creates a missing version 1 hierarchy if its controllers are free.
UniqueFd openHierarchy(const std::string& controllers);

/// Reads /proc/PID/cgroup from the cgroup namespace of the process. Paths are relative to the roots of that
/// namespace.
std::vector<CgroupLine> readCgroupsInside(const ProcPid& process);

}  // namespace criu::kernel
