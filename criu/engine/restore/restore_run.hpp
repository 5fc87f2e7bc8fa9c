// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/files/service_fds.hpp"
#include "criu/namespaces/namespace_restores.hpp"

namespace criu::engine {

/// Data that all restored processes use. The coordinator creates it before the root, and restored processes inherit it
/// by fork.
struct RestoreRun {
    const model::Options& options;
    Log& log;
    StopRequest& stop;
    ImageDir& images;
    RestoreImages& content;
    model::BirthPlan& births;
    RestoredFiles& files;
    memory::Segments& segments;
    cgroup::CgroupRestore& cgroups;
    namespaces::NamespaceRestores& namespaces;
    const namespaces::RestoreNsContext& nsContext;
    RestoreControl& control;
    ServiceFds service;
    const RestoreStart& start;
    const memory::RangeSet& mappings;  ///< mappings of the coordinator, which restored processes inherit
    LazyRestore* lazy;                 ///< connection to a daemon; null without --lazy-pages and --map-pages
    std::size_t allowedMappings;       ///< maximum number of mappings of a process (kernel::allowedMappings())
    std::uint64_t smallestHugePage;    ///< kernel::smallestHugePage(), read before a process leaves criu's mounts
};

}  // namespace criu::engine
