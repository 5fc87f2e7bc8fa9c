// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mm/uffd_missing.hpp"
#include "criu/memory/lazy/lazy_pages.hpp"

namespace criu::memory {

class CloneStore;

/// Memory of one running clone that the shared-pages daemon serves. The first touch of each page waits for the
/// daemon.
/// The daemon maps file pages. Pages that the process discarded (madvise(2), mremap(2)) or that a mapping grew by
/// become zero, as in anonymous memory.
/// One thread must make all calls, so that no page is mapped between the read and the processing of an event.
class CloneMemory {
public:
    /// `name`: for messages. `pages`: result of CloneStore::pagesOf(). `store` must outlive this object.
    CloneMemory(std::string name, UniqueFd userfaultfd, LazyPageMap pages, CloneStore& store);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Reads and serves events. Returns the memory of new child processes. Throws Error.
    [[nodiscard]] std::vector<std::unique_ptr<CloneMemory>> serve();
    /// Returns true if a fault is still unserved: the caller must call serve() again soon, without an event.
    [[nodiscard]] bool waits() const noexcept { return !faults_.empty(); }

    /// Maps some untouched pages. Returns false if none are left. Throws Error.
    bool mapAhead();

    /// Returns true if the process has ended or executed another program. Finds out by serving an arbitrary page.
    [[nodiscard]] bool isGone();

private:
    /// Serves a fault. Returns true if it is done.
    bool answer(std::uint64_t page);
    kernel::Supplied map(const LazyPageMap::Piece& piece);

    const std::string name_;
    UniqueFd fd_;
    LazyPageMap pages_;
    CloneStore& store_;
    std::vector<std::uint64_t> faults_;
    std::uint64_t ahead_ = 0;  ///< next address of mapAhead()
    bool gone_ = false;
};

}  // namespace criu::memory
