// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "criu/base/ids.hpp"

namespace compel {
class FrozenProcess;
struct InjectedMemory;
}  // namespace compel

namespace criu {
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::kernel {
class FdStore;
}

namespace criu::memory {
class LazyAreas;
class PageSource;
struct CloneFile;
}  // namespace criu::memory

namespace criu::model {
struct Options;
struct ProcessTree;
struct Task;
}  // namespace criu::model

namespace criu::engine {

struct RestoreImages;

/// What of a process may come late when it is restored: all but what criu and the kernel touch before it runs, and what
/// others like to look at (its command line). From the images alone, so that restore and daemon agree. Throws Error.
[[nodiscard]] memory::LazyAreas lazyAreasOf(const model::Task& task);

/// What of it clones map of the file that they have in common (--map-pages); also from the images alone. Throws Error.
[[nodiscard]] memory::LazyAreas cloneAreasOf(const model::Task& task, const memory::PageSource& pages);

/// The restore's part of --lazy-pages and --map-pages: pages that may be late aren't filled in. When a process has
/// parked, its memory is registered with a userfaultfd, which goes to the daemon; whoever touches such a page from then
/// on waits for it.
class LazyRestore {
public:
    /// Connects to the daemon, before anything is made. If the kernel doesn't let these processes have a userfaultfd
    /// (`ownUsers`: they live in a user namespace of their own), all pages are restored at once, with a warning, unless
    /// the images lack some. Throws Error.
    LazyRestore(const RestoreImages& images, bool ownUsers, StopRequest& stop, Log& log);
    /// With --map-pages: connects to the keeper of the clones of these images, or starts it. Throws Error, also if the
    /// kernel doesn't let these processes have a userfaultfd of the kind that it takes.
    LazyRestore(const RestoreImages& images, const ImageDir& directory, bool ownUsers, StopRequest& stop, Log& log);
    ~LazyRestore();
    LazyRestore(const LazyRestore&) = delete;
    LazyRestore& operator=(const LazyRestore&) = delete;

    /// How many descriptors share() puts into the store.
    [[nodiscard]] std::size_t descriptors() const noexcept;
    /// Has processes inherit what they map. Throws Error.
    void share(kernel::FdStore& store);
    /// What a process maps of the file of clones; nothing without --map-pages. In any process. Throws Error.
    [[nodiscard]] std::optional<memory::CloneFile> fileOf(const model::Task& task) const;

    /// What is left out when a process is filled; in any process. Throws Error.
    [[nodiscard]] memory::LazyAreas areasOf(const model::Task& task) const;

    /// Hands the memory of a parked process, which has all rights of criu, to the daemon. Throws Error.
    void handOver(compel::FrozenProcess& process, const compel::InjectedMemory& area, const model::Task& task);
    /// All were handed over: returns when faults are served. Throws Error.
    void begin();
    /// The processes run. Throws Error.
    void done();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Throws Error if any process lacks pages that only --lazy-pages can supply.
void requireAllPages(const RestoreImages& images);

}  // namespace criu::engine
