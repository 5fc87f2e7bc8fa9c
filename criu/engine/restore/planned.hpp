// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/namespace_restores.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::cgroup {
class CgroupRestore;
}

namespace criu::device {
class RestoreDevices;
}

namespace criu::engine {
class LazyRestore;
struct RestoreImages;
class RestoredFiles;
struct Run;
}  // namespace criu::engine

namespace criu::kernel {
class FdStore;
}

namespace criu::memory {
class PageSources;
class Segments;
}  // namespace criu::memory

namespace criu::model {
class BirthPlan;
struct Options;
struct ProcessTree;
}  // namespace criu::model

namespace criu::namespaces {
class JoinedNamespaces;
struct RestoreNsContext;
}  // namespace criu::namespaces

namespace criu::sockets {
class NetworkLock;
}

namespace criu::engine {

/// First phase of a restore: reads and checks all small images, and plans the work. Nothing exists yet, so a failure
/// (Error) has no effect.
///
/// It owns the objects that later phases work with. Each phase is destroyed before the phase that it was made from, so
/// destructors revert a failed restore in reverse order.
class PlannedRestore {
public:
    explicit PlannedRestore(Run& command);
    ~PlannedRestore();
    PlannedRestore(const PlannedRestore&) = delete;
    PlannedRestore& operator=(const PlannedRestore&) = delete;

    [[nodiscard]] const model::ProcessTree& tree() const noexcept;
    [[nodiscard]] const model::Options& options() const noexcept;
    [[nodiscard]] Log& log() const noexcept;
    /// Moves the descriptors of the images to numbers that no restored process uses, and tells listeners.
    void moveImages(const std::function<UniqueFd(UniqueFd)>& mover);
    /// Ends the use of images. With --stream, the image streamer may exit then.
    void dismissStreamer() noexcept;
    /// Connects to the lazy-pages daemon (--lazy-pages), or to the shared-pages daemon (--map-pages). Returns null
    /// without either option. Throws Error, also if neither option is given and the images lack pages. Defined in
    /// lazy_start.cpp.
    [[nodiscard]] std::shared_ptr<LazyRestore> startLazyRestore();
    /// Throws Error (ENOENT) with a list of all missing files that processes need. Checks only trees that see criu's
    /// paths. Call after RestoredFiles::noteLinks(). Defined in missing_files.cpp.
    void requireFiles() const;
    /// Requires that the cgroups of all threads exist or can be created. Throws Error. Defined in group_visit.cpp.
    void requireGroups();
    /// Lets device subsystems examine what processes will find in their cgroups, which must exist. Throws Error.
    /// Defined in group_visit.cpp.
    void visitGroups();
    /// Counts the processes that run after the restore.
    [[nodiscard]] std::size_t countAlive() const;

    const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
    Run& run;
    /// Throws Error when the user stops criu.
    const std::function<void()> checkStop;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;

public:
    ImageDir& images;
    const memory::PageSources& pages;
    RestoreImages& content;
    model::BirthPlan& births;
    memory::Segments& segments;
    kernel::FdStore& store;
    device::RestoreDevices& devices;
    /// Lock of the root's network namespace, or of single connections.
    sockets::NetworkLock& networkLock;
    RestoredFiles& files;
    namespaces::JoinedNamespaces& joined;
    namespaces::RestoreNsContext& surroundings;
    cgroup::CgroupRestore& cgroups;
    namespaces::NamespaceRestores& namespaces;
};

}  // namespace criu::engine
