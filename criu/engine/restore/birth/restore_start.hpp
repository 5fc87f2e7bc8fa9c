// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/kernel/proc/limits.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/scheduling.hpp"

namespace criu::memory {
class RangeSet;
struct CompatVdso;
struct VdsoLayout;
}  // namespace criu::memory

namespace criu::model {
struct Options;
}  // namespace criu::model

namespace criu::namespaces {
struct RestoreNsContext;
}

namespace criu::task {
class LabelRestore;
}

namespace criu::engine {

struct RestoreImages;

/// What a new process starts with when it has come to its restorer's program.
struct RestoreStart {
    /// Throws Error if this kernel can't run the tree's tasks.
    RestoreStart(const RestoreImages& content, const namespaces::RestoreNsContext& surroundings,
                 const model::Options& options);
    ~RestoreStart();
    RestoreStart(const RestoreStart&) = delete;
    RestoreStart& operator=(const RestoreStart&) = delete;

    task::Credentials credentials;
    task::Dumpable dumpable;
    std::unique_ptr<const task::LabelRestore> labels;
    task::Scheduling scheduling;
    kernel::ResourceLimits limits;
    bool timerIdsSettable = false;
    std::unique_ptr<const memory::RangeSet>
        mappings;  ///< of this process (memory::ownMappings()), which all others are born with
    std::unique_ptr<const memory::VdsoLayout> vdso;        ///< of this process, and of all that are born of it
    std::unique_ptr<const memory::CompatVdso> compatVdso;  ///< if the tree has 32-bit tasks
};

}  // namespace criu::engine
