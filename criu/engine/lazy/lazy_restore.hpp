// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <optional>

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/lazy/lazy_link.hpp"

namespace criu::engine {

/// Returns the areas of a process that may be lazy: all memory except eager memory and the command line (ps(1) reads
/// it). Uses only the images, so that restore and daemon calculate equal areas. Throws Error.
[[nodiscard]] memory::LazyAreas lazyAreasOf(const model::Task& task);

/// Returns the areas that a clone maps from the shared-pages file (--map-pages). Uses only the images, so that restore
/// and daemon calculate equal areas. Throws Error.
[[nodiscard]] memory::LazyAreas cloneAreasOf(const model::Task& task, const memory::PageSource& pages);

/// Restore half of --lazy-pages and --map-pages. The restore doesn't fill lazy pages. When a process is parked, criu
/// registers its memory with a userfaultfd and sends the userfaultfd to the daemon. A thread that accesses a lazy page
/// then waits until the daemon has supplied the page.
class LazyRestore {
public:
    /// Connects to the lazy-pages daemon. If the kernel doesn't let the processes create a userfaultfd, warns, and the
    /// restore fills all pages. Throws Error, also if the images then lack pages. Call it before any resource is
    /// created. `ownUsers`: the processes are in a private user namespace.
    LazyRestore(const RestoreImages& images, const model::Options& options, bool ownUsers, StopRequest& stop, Log& log);
    /// Connects to the shared-pages daemon of these images, or starts it (--map-pages). Throws Error, also if the
    /// kernel doesn't let the processes create a userfaultfd in minor mode.
    LazyRestore(const RestoreImages& images, const ImageDir& directory, const model::Options& options, bool ownUsers,
                StopRequest& stop, Log& log);
    LazyRestore(const LazyRestore&) = delete;
    LazyRestore& operator=(const LazyRestore&) = delete;

    /// Returns the number of descriptors that share() puts into the store.
    [[nodiscard]] std::size_t descriptors() const noexcept;
    /// Makes the shared-pages file an inherited descriptor. Throws Error.
    void share(kernel::FdStore& store);
    /// Returns the parts of the shared-pages file that a process maps; nothing without --map-pages. Any restored
    /// process may call this. Throws Error.
    [[nodiscard]] std::optional<memory::CloneFile> fileOf(const model::Task& task) const;

    /// Returns the areas that the restore doesn't fill. Any restored process may call this. Throws Error.
    [[nodiscard]] memory::LazyAreas areasOf(const model::Task& task) const;

    /// Registers the memory of a parked process, which must still have all privileges of criu, and sends the
    /// userfaultfd to the daemon. Throws Error.
    void handOver(compel::FrozenProcess& process, const compel::InjectedMemory& area, const model::Task& task);
    /// Reports to the daemon that all processes were sent. Returns when the daemon serves faults. Throws Error.
    void begin();
    /// Reports to the daemon that the processes run. Throws Error.
    void done();

private:
    LazyRestore(const RestoreImages& images, SharedPagesLink clones, const WaitLimit& limit, Log& log);

    LazyLink link_;
    WaitLimit limit_;  ///< limit of waits for the daemon
    Log& log_;
    const RestoreImages& images_;
    bool possible_ = false;
    UniqueFd file_;  ///< shared-pages file; empty without --map-pages
};

/// Throws Error if the images lack pages of a process: only a restore with --lazy-pages can fetch these pages from the
/// dump.
void requireAllPages(const RestoreImages& images);

}  // namespace criu::engine
