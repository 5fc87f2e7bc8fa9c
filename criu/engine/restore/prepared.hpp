// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/engine/restore/scoped_rlimits.hpp"

namespace criu::engine {

/// Second phase of a restore: creates the resources that processes need at birth. Criu's own descriptors are in the
/// service range. Ghost files, shared memory and cgroups exist; processes don't. If the constructor fails (Error), or
/// the object is destroyed before commit(), all of them are removed.
class PreparedRestore {
public:
    explicit PreparedRestore(PlannedRestore& plan);
    ~PreparedRestore();
    PreparedRestore(const PreparedRestore&) = delete;
    PreparedRestore& operator=(const PreparedRestore&) = delete;

    /// Keeps the created resources, because the restore has succeeded.
    void commit() noexcept;

    PlannedRestore& planned;
    /// Connection to the lazy-pages or shared-pages daemon. It comes before any resource is created. Null without
    /// --lazy-pages and --map-pages.
    std::shared_ptr<LazyRestore> lazy;
    ScopedRlimits limits;
    ServiceFds service;  ///< range of service descriptors
    RestoreControl control;
    std::unique_ptr<memory::SysvShmRestore> systemV;
    std::unique_ptr<const RestoreStart> start;
    RestoreRun run;

private:
    void makeShared();
};

}  // namespace criu::engine
