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

/// Memory of one running clone that the shared-pages daemon serves. The first access to each page waits for the daemon.
/// Usually the daemon maps a page of the file. The daemon fills a page with zeroes if the process has discarded it
/// (madvise(2), mremap(2)), or if a mapping has grown by it. One thread must make all calls: no page may be mapped
/// between the read and the processing of an event.
class CloneMemory {
public:
    /// `name`: name of the process for error messages. `pages`: result of CloneStore::pagesOf(). `store` must outlive
    /// this object.
    CloneMemory(std::string name, UniqueFd userfaultfd, LazyPageMap pages, CloneStore& store);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Reads userfaultfd events and serves the faults. Returns the memory of new child processes. Throws Error.
    [[nodiscard]] std::vector<std::unique_ptr<CloneMemory>> serve();
    /// Returns true if a fault is still unserved. The caller must then soon call serve() again, even if no event
    /// arrives.
    [[nodiscard]] bool waits() const noexcept { return !faults_.empty(); }

    /// Maps some pages that the process hasn't accessed. Returns false if no such pages remain. Throws Error.
    bool mapAhead();

    /// Returns true if the process has ended or executed another program. To find out, it serves an arbitrary page.
    [[nodiscard]] bool isGone();

private:
    /// Serves the fault on a page. Returns false if the caller must repeat the call after it has read events.
    bool answer(std::uint64_t page);
    kernel::Supplied map(const LazyPageMap::Piece& piece);

    const std::string name_;
    UniqueFd fd_;
    LazyPageMap pages_;
    CloneStore& store_;
    std::vector<std::uint64_t> faults_;
    std::uint64_t ahead_ = 0;  ///< address at which mapAhead() continues
    bool gone_ = false;
};

}  // namespace criu::memory
