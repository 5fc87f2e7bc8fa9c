// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/engine/fwd.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/scheduling.hpp"

namespace criu::engine {

/// State that every restored process has when its program starts.
struct RestoreStart {
    /// `before`: limits of criu before it raised them. Throws Error if this kernel can't run the tree's tasks.
    RestoreStart(const RestoreImages& content, const namespaces::RestoreNsContext& nsContext,
                 const model::Options& options, const kernel::ResourceLimits& before);
    ~RestoreStart();
    RestoreStart(const RestoreStart&) = delete;
    RestoreStart& operator=(const RestoreStart&) = delete;

    task::Credentials credentials;
    task::Dumpable dumpable;
    std::unique_ptr<const task::LabelRestore> labels;
    task::Scheduling scheduling;
    kernel::ResourceLimits limits;        ///< current limits of criu, some of them raised
    kernel::ResourceLimits limitsBefore;  ///< limits of criu before it raised them, for images without limits
    bool timerIdsSettable = false;
    std::unique_ptr<const memory::RangeSet>
        mappings;  ///< mappings of the coordinator (memory::ownMappings()), which restored processes inherit
    /// Addresses of the vDSO in the coordinator and in all restored processes.
    std::unique_ptr<const memory::VdsoLayout> vdso;
    std::unique_ptr<const memory::CompatVdso> compatVdso;  ///< vDSO for 32-bit tasks; null if the tree has none
};

}  // namespace criu::engine
