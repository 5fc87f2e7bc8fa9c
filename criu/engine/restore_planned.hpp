// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>

#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/restore_images.hpp"
#include "criu/engine/restored_files.hpp"
#include "criu/memory/page_files.hpp"
#include "criu/memory/segments.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::engine {

/// The first phase of a restore: all small images are read and checked, and it is decided who does what. Nothing has
/// been made, so the constructor fails (Error) without any effect.
///
/// It owns what the other phases work with. What they make is taken back, if the restore fails, by destructors in the
/// reverse order: each phase is destroyed before the one that it was made from.
class PlannedRestore {
public:
    explicit PlannedRestore(Run& command);
    PlannedRestore(const PlannedRestore&) = delete;
    PlannedRestore& operator=(const PlannedRestore&) = delete;

    [[nodiscard]] const model::ProcessTree& tree() const noexcept { return content.tree; }
    [[nodiscard]] const model::Options& options() const noexcept { return run.options; }
    [[nodiscard]] Log& log() const noexcept { return run.log; }
    /// How many processes are to run in the end.
    [[nodiscard]] std::size_t countAlive() const;

    const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
    Run& run;
    /// Throws when the restore is to end.
    const std::function<void()> checkStop = [this] { run.stop.throwIfRequested(); };
    ImageDir images;
    memory::FilePageSources pages{images};
    RestoreImages content;
    model::BirthPlan births;
    memory::Segments segments;
    kernel::FdStore store;
    device::RestoreDevices devices;
    /// Of the root's network namespace, or of single connections.
    sockets::NetworkLock networkLock;
    RestoredFiles files;
    namespaces::JoinedNamespaces joined;
    namespaces::Surroundings surroundings;
    cgroup::CgroupRestore cgroups;
    namespaces::NamespaceRestores namespaces;

private:
    [[nodiscard]] namespaces::NamespaceRestores planNamespaces();
};

}  // namespace criu::engine
