// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/engine/restore/restore_control.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/engine/restore/scoped_rlimits.hpp"

namespace criu::engine {
class LazyRestore;
class PlannedRestore;
}  // namespace criu::engine

namespace criu::memory {
class SysvShmRestore;
}

namespace criu::engine {

/// The second phase of a restore: what processes find when they are born exists. Criu's own descriptors are out of the
/// way of restored files, deleted files and shared memory are there, groups are made. No process exists yet. If the
/// constructor fails (Error), or the object is destroyed before commit(), all of it is taken back.
class PreparedRestore {
public:
    explicit PreparedRestore(PlannedRestore& plan);
    ~PreparedRestore();
    PreparedRestore(const PreparedRestore&) = delete;
    PreparedRestore& operator=(const PreparedRestore&) = delete;

    /// The restore has come through: what was made stays.
    void commit() noexcept;

    PlannedRestore& planned;
    std::shared_ptr<LazyRestore>
        lazy;  ///< null without --lazy-pages and --map-pages; connected before anything is made
    ScopedRlimits limits;
    ServiceFds service;  ///< what processes don't have open is there
    RestoreControl control;
    std::unique_ptr<memory::SysvShmRestore> systemV;
    std::unique_ptr<const RestoreStart> start;
    RestoreRun run;

private:
    void makeShared();
};

}  // namespace criu::engine
