// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/namespace_kinds.hpp"

#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/external_ns_sharing.hpp"
#include "criu/namespaces/mount/file_archive.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/net/network_restore.hpp"
#include "criu/namespaces/pid/pid_restore.hpp"

namespace criu::engine {

void loadLibraries(const kernel::NamespaceIds& tree, const kernel::NamespaceIds& home) noexcept {
    if (tree.of(kernel::NamespaceKind::Mount) != home.of(kernel::NamespaceKind::Mount))
        namespaces::FileArchives::load();
}

namespaces::NamespaceDumps makeNamespaceDumps(const namespaces::DumpInputs& inputs) {
    namespaces::NamespaceDumps kinds;
    kinds.push_back(namespaces::makePidDump(inputs));
    kinds.push_back(namespaces::makeUserDump(inputs));  // first, because other kinds use the id map of user namespaces
    kinds.push_back(namespaces::makeCgroupDump(inputs));
    kinds.push_back(namespaces::makeUtsDump(inputs));
    kinds.push_back(namespaces::makeTimeDump(inputs));
    kinds.push_back(namespaces::makeMountDump(inputs));
    kinds.push_back(namespaces::makeIpcDump(inputs));
    namespaces::requireNoExternalSharing(inputs);
    // The network kind is last, because its restore half makes the calling thread enter the network namespace.
    kinds.push_back(namespaces::makeNetworkDump(inputs));
    return kinds;
}

namespaces::NamespaceRestores makeNamespaceRestores(const NamespaceRestoreResources& with) {
    const namespaces::RestoreInputs& inputs = with.inputs;
    namespaces::NamespaceRestores kinds;
    // The user kind is first: it defines the id map, and its user namespace must own the other namespaces.
    kinds.push_back(namespaces::makeUserRestore(inputs));
    kinds.push_back(namespaces::makePidRestore(inputs));
    kinds.push_back(namespaces::makeCgroupRestore(inputs, with.cgroups));
    kinds.push_back(namespaces::makeNetworkRestore(inputs, with.networkLock, with.networkLockName));
    kinds.push_back(namespaces::makeIpcRestore(inputs));
    kinds.push_back(namespaces::makeUtsRestore(inputs));
    kinds.push_back(namespaces::makeTimeRestore(inputs));
    kinds.push_back(namespaces::makeMountRestore(inputs, with.mounts));
    std::erase(kinds, nullptr);
    return kinds;
}

}  // namespace criu::engine
