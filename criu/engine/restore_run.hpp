// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/engine/restore_control.hpp"
#include "criu/engine/restored_files.hpp"
#include "criu/kernel/limits.hpp"
#include "criu/memory/compat_vdso.hpp"
#include "criu/memory/segments.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/task/attributes.hpp"
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
    RestoredFiles& files;
    memory::Segments& segments;
    cgroup::CgroupRestore& cgroups;
    namespaces::NamespaceRestores& namespaces;
    const namespaces::Surroundings& surroundings;
    RestoreControl& control;
    ServiceFds service;
    // What a new process starts with when it has come to its restorer's program.
    task::Credentials credentials;
    task::Dumpable dumpable;
    task::Scheduling scheduling;
    kernel::ResourceLimits limits;
    bool timerIdsSettable = false;
    std::optional<memory::CompatVdso> compatVdso;  ///< if the tree has 32-bit tasks
};

}  // namespace criu::engine
