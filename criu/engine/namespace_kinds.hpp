// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "criu/namespaces/mount/mount_helpers.hpp"
#include "criu/namespaces/namespace_restores.hpp"

namespace criu::kernel {
struct NamespaceIds;
}

namespace criu::namespaces {
struct DumpInputs;
class NamespaceDump;
struct RestoreInputs;
}  // namespace criu::namespaces

namespace criu::cgroup {
class CgroupRestore;
}

namespace criu::sockets {
class NetworkLock;
}

/// List of all namespace kinds. A new kind needs one line for each of its halves.
namespace criu::engine {

/// Loads libraries that a dump of a tree in these namespaces needs, before the freeze: loading would prolong it. `home`
/// has the namespaces of criu. The code that uses a library reports a failure to load it.
void loadLibraries(const kernel::NamespaceIds& tree, const kernel::NamespaceIds& home) noexcept;

/// Makes the dump halves of all kinds, in the order in which they are made and used. Throws Error for what can't be
/// dumped.
[[nodiscard]] std::vector<std::unique_ptr<namespaces::NamespaceDump>> makeNamespaceDumps(
    const namespaces::DumpInputs& inputs);

/// State of the restore that single kinds use.
struct NamespaceRestoreResources {
    const namespaces::RestoreInputs& inputs;
    cgroup::CgroupRestore& cgroups;
    sockets::NetworkLock& networkLock;
    std::string networkLockName;
    namespaces::MountHelpers mounts;
};

/// Makes the restore halves of all kinds that a tree needs, in the order in which they do each step.
[[nodiscard]] namespaces::NamespaceRestores makeNamespaceRestores(const NamespaceRestoreResources& with);

}  // namespace criu::engine
