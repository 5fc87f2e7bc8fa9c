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

/// The first phase of a restore: all small images are read and checked, and it is decided who does what. Nothing has
/// been made, so the constructor fails (Error) without any effect.
///
/// It owns what the other phases work with. What they make is taken back, if the restore fails, by destructors in the
/// reverse order: each phase is destroyed before the one that it was made from.
class PlannedRestore {
public:
    explicit PlannedRestore(Run& command);
    ~PlannedRestore();
    PlannedRestore(const PlannedRestore&) = delete;
    PlannedRestore& operator=(const PlannedRestore&) = delete;

    [[nodiscard]] const model::ProcessTree& tree() const noexcept;
    [[nodiscard]] const model::Options& options() const noexcept;
    [[nodiscard]] Log& log() const noexcept;
    /// Moves the descriptors that images are found by to where no restored process has its own; listeners learn of it.
    void moveImages(const std::function<UniqueFd(UniqueFd)>& mover);
    /// No image is wanted any more: with --stream its other side may end.
    void dismissStreamer() noexcept;
    /// With --lazy-pages: connects to the daemon that supplies pages; with --map-pages to the keeper of clones. In
    /// lazy_start.cpp. Null without either; then Error if the images lack pages. Throws Error.
    [[nodiscard]] std::shared_ptr<LazyRestore> startLazyRestore();
    /// Throws Error (ENOENT) that lists all files that processes need and that aren't there, as far as the tree has its
    /// files where criu has them; in missing_files.cpp. Links of the dump are noted.
    void requireFiles() const;
    /// The control groups that threads were in will be there, or made; in group_visit.cpp. Throws Error.
    void requireGroups();
    /// Has device subsystems look at what processes will find in their control groups, which must exist; in
    /// group_visit.cpp. Throws Error.
    void visitGroups();
    /// How many processes are to run in the end.
    [[nodiscard]] std::size_t countAlive() const;

    const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
    Run& run;
    /// Throws when the restore is to end.
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
    /// Of the root's network namespace, or of single connections.
    sockets::NetworkLock& networkLock;
    RestoredFiles& files;
    namespaces::JoinedNamespaces& joined;
    namespaces::RestoreNsContext& surroundings;
    cgroup::CgroupRestore& cgroups;
    namespaces::NamespaceRestores& namespaces;
};

}  // namespace criu::engine
