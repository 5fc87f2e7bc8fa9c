// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>

#include "criu/base/ids.hpp"
#include "criu/files/tree_root.hpp"

namespace criu {
class Log;
}

/// Mounts whose content depends on the namespaces of the process that mounted them.
namespace criu::namespaces {

class SeenMounts;
struct SeenTree;

/// Finds the pid namespace that each proc file system shows. Stores in the mounts which nested pid namespaces they
/// show. Warns of reachable proc file systems that show a pid namespace outside of the tree. Throws Error if a restore
/// can't mount a proc file system.
[[nodiscard]] files::TreeRoot::ProcMounts findProcMounts(SeenMounts& mounts, const SeenTree& tree, Log& log);

/// Finds sysfs file systems that show non-root network namespaces. Warns of a reachable sysfs that shows a network
/// namespace outside of the tree. In the result, the key is the device number of a sysfs, and the value is a process in
/// the network namespace.
[[nodiscard]] std::map<std::uint32_t, HostPid> findSysfsNetworks(const SeenMounts& mounts, const SeenTree& tree,
                                                                 Log& log);

}  // namespace criu::namespaces
