// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/attributes.hpp"

namespace criu::kernel {

/// The root of a cgroup hierarchy as a directory, wherever it is mounted or not: through a mount that nobody else sees
/// and that goes with the descriptor (fsopen(2), Linux 5.2; needs CAP_SYS_ADMIN). `controllers` is what
/// /proc/PID/cgroup calls it: "cpu,cpuacct", "name=systemd", "" for the unified one. A version 1 hierarchy that doesn't
/// exist is made if its controllers are free.
UniqueFd openHierarchy(const std::string& controllers);

/// /proc/PID/cgroup as the process sees it itself: relative to the roots of its cgroup namespace.
std::vector<CgroupLine> readCgroupsInside(const ProcPid& process);

}  // namespace criu::kernel
