// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "criu/base/unique_fd.hpp"
#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/images/image_limits.hpp"
#include "criu/engine/images/image_transfer.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::engine {

class MemoryProvider;

/// First phase of a restore: reads and checks all small images, and plans the work. A failure (Error) has no effect,
/// because this phase creates nothing.
///
/// The object owns data that all later phases use. Each phase is destroyed before the phase on which it builds, so that
/// the destructors revert a failed restore in reverse order.
class PlannedRestore {
public:
    explicit PlannedRestore(Run& command);
    ~PlannedRestore();
    PlannedRestore(const PlannedRestore&) = delete;
    PlannedRestore& operator=(const PlannedRestore&) = delete;

    [[nodiscard]] const model::ProcessTree& tree() const noexcept { return content.tree; }
    [[nodiscard]] const model::Options& options() const noexcept { return run.options; }
    [[nodiscard]] Log& log() const noexcept { return run.log; }
    /// Moves the descriptors of the images to numbers that no restored process uses, and notifies listeners. `mover`:
    /// moves one descriptor.
    void moveImages(const std::function<UniqueFd(UniqueFd)>& mover);
    /// Ends the use of images. With --stream, the image streamer may then exit.
    void dismissStreamer() noexcept { incoming_.dismiss(); }
    /// Returns the number of processes that run after the restore.
    [[nodiscard]] std::size_t countAlive() const;
    /// Returns the id of the process' cgroup set in the images; 0 for helpers and zombies.
    [[nodiscard]] std::uint32_t cgroupSetOf(TreePid pid) const;

    const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
    Run& run;
    /// Throws Error when the user stops criu.
    const std::function<void()> checkStop;

private:
    /// Throws Error if the images lack a cgroup set of a thread, or if a cgroup's limit on the number of tasks
    /// (pids.max) is too low.
    void requireGroups();

    IncomingImages incoming_;

public:
    const std::unique_ptr<MemoryProvider> provider;  ///< external memory provider; may be null
    ImageDir& images;
    const memory::FilePageSources pages;
    RestoreImages content;
    ImageAmounts amounts;
    model::BirthPlan births;
    memory::Segments segments;
    kernel::FdStore store;
    device::RestoreDevices devices;
    /// Lock of all traffic in the root's network namespace, or of single connections.
    sockets::NetworkLock networkLock;
    RestoredFiles files;
    namespaces::JoinedNamespaces joined;
    namespaces::RestoreNsContext nsContext;
    cgroup::CgroupRestore cgroups;
    namespaces::NamespaceRestores namespaces;
};

}  // namespace criu::engine
