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

/// Makes the dump halves and restore halves of all namespace kinds.
namespace criu::engine {

/// Loads the shared libraries (dlopen(3)) that a dump of a tree in these namespaces needs. Call it before the freeze,
/// so that loading doesn't prolong the freeze. Ignores failures, because the code that uses a library reports them.
/// `home`: namespaces of criu.
void loadLibraries(const kernel::NamespaceIds& tree, const kernel::NamespaceIds& home) noexcept;

/// Makes the dump halves of all namespace kinds, in the order in which the dump uses them. Throws Error if criu can't
/// dump a namespace.
[[nodiscard]] std::vector<std::unique_ptr<namespaces::NamespaceDump>> makeNamespaceDumps(
    const namespaces::DumpInputs& inputs);

/// Objects that the restore halves of namespace kinds use.
struct NamespaceRestoreResources {
    const namespaces::RestoreInputs& inputs;
    cgroup::CgroupRestore& cgroups;
    sockets::NetworkLock& networkLock;
    std::string networkLockName;
    namespaces::MountHelpers mounts;
};

/// Makes the restore halves of the namespace kinds that a tree needs, in the order in which the restore uses them.
[[nodiscard]] namespaces::NamespaceRestores makeNamespaceRestores(const NamespaceRestoreResources& with);

}  // namespace criu::engine
