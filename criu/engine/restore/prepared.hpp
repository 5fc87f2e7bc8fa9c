// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/engine/restore/scoped_rlimits.hpp"

namespace criu::engine {

/// Second phase of a restore: ghost files, shared memory and cgroups exist, but no processes. criu's descriptors are in
/// the service range. If the constructor fails (Error), or the destructor runs without commit(), criu removes all
/// created resources.
class PreparedRestore {
public:
    explicit PreparedRestore(PlannedRestore& plan);
    ~PreparedRestore();
    PreparedRestore(const PreparedRestore&) = delete;
    PreparedRestore& operator=(const PreparedRestore&) = delete;

    /// Keeps the created resources. Call it when the restore has succeeded.
    void commit() noexcept;

    PlannedRestore& planned;
    /// Connection to the lazy-pages or shared-pages daemon; null without --lazy-pages and --map-pages. Declared before
    /// the created resources, so that criu connects first.
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
