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

/// All kinds of namespaces this criu knows: the list that a new kind is added to, with a line for each of its halves.
namespace criu::engine {

/// Loads the libraries that the dump of a tree in these namespaces needs, while the tree still runs: later that would
/// take time in which it stands still. `home`: the namespaces of criu. What can't be loaded is said where it is used.
void loadLibraries(const kernel::NamespaceIds& tree, const kernel::NamespaceIds& home) noexcept;

/// The dump halves of all kinds, in the order in which they are made and asked. Throws Error for what can't be dumped.
[[nodiscard]] std::vector<std::unique_ptr<namespaces::NamespaceDump>> makeNamespaceDumps(
    const namespaces::DumpInputs& inputs);

/// What single kinds share with others of the restore.
struct NamespaceRestoreResources {
    const namespaces::RestoreInputs& inputs;
    cgroup::CgroupRestore& cgroups;
    sockets::NetworkLock& networkLock;
    std::string networkLockName;
    namespaces::MountHelpers mounts;
};

/// The restore halves of all kinds of namespaces that a tree needs, in the order in which they do each step.
[[nodiscard]] namespaces::NamespaceRestores makeNamespaceRestores(const NamespaceRestoreResources& with);

}  // namespace criu::engine
