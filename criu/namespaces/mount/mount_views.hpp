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

/// Finds the pid namespace that each proc file system shows, and stores nested ones in the mounts. Warns of reachable
/// proc file systems that show no pid namespace of the tree. Throws Error if a restore can't mount one.
[[nodiscard]] files::TreeRoot::ProcMounts findProcMounts(SeenMounts& mounts, const SeenTree& tree, Log& log);

/// Finds sysfs file systems that show other network namespaces than the root's. Warns of reachable ones that show no
/// network namespace of the tree. Key: device of a sysfs; value: a process in the network namespace that it shows.
[[nodiscard]] std::map<std::uint32_t, HostPid> findSysfsNetworks(const SeenMounts& mounts, const SeenTree& tree,
                                                                 Log& log);

}  // namespace criu::namespaces
