// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/namespaces/mount_restore.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::engine {

/// What single kinds share with others of the restore.
struct NamespaceRestoreResources {
    const namespaces::RestoreInputs& inputs;
    cgroup::CgroupRestore& cgroups;
    sockets::NetworkLock& networkLock;
    std::string networkLockName;
    namespaces::MountHelpers mounts;
};

/// The restore halves of all kinds of namespaces that a tree needs, in the order in which they do each step: the one
/// list that a new kind is added to.
[[nodiscard]] namespaces::NamespaceRestores makeNamespaceRestores(const NamespaceRestoreResources& with);

}  // namespace criu::engine
