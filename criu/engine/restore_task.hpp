// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/engine/file_plan.hpp"
#include "criu/engine/restore_control.hpp"
#include "criu/kernel/limits.hpp"
#include "criu/memory/compat_vdso.hpp"
#include "criu/memory/segments.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/id_map.hpp"
#include "criu/namespaces/image_order.hpp"
#include "criu/namespaces/mount_restore.hpp"
#include "criu/namespaces/network_restore.hpp"
#include "criu/namespaces/tree_namespaces.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/scheduling.hpp"

namespace criu::engine {

/// Everything that all processes of a restore look at; made by the master before the first one is created, and
/// inherited by fork.
struct RestoreRun {
    const model::Options& options;
    Log& log;
    ImageDir& images;
    RestoreImages& content;
    model::BirthPlan& births;
    FilePlan& files;
    memory::Segments& segments;
    cgroup::CgroupRestore& cgroups;
    const model::IdMap& ids;
    namespaces::OwnNamespaces own;  ///< kinds of which the tree had a namespace for itself
    namespaces::NetworkRestore& network;
    namespaces::TreeNamespaces& namespaces;
    namespaces::MountRestore& mounts;
    RestoreControl& control;
    ServiceFds service;
    // What a new process starts with when it has come to its restorer's program.
    task::Credentials credentials;
    task::Scheduling scheduling;
    kernel::ResourceLimits limits;
    bool timerIdsSettable = false;
    std::optional<memory::CompatVdso> compatVdso;  ///< if the tree has 32-bit tasks
};

/// The set of cgroups a thread was in; 0 if the image doesn't say.
std::uint32_t cgroupSetOf(const CoreEntry& core);

/// Creates the root of the tree, in new namespaces, where it waits for RestoreControl::openGate(); then it creates its
/// children, and so on. Returns its pid, as criu has it, in the master only. `asSibling`: it becomes a child of the
/// master's parent.
pid_t createRoot(RestoreRun& run, bool asSibling);

}  // namespace criu::engine
