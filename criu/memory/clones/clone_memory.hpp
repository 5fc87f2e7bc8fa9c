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

/// The memory of one running clone, as the keeper serves it: the first touch of each page waits here. A page that the
/// file stands for is mapped from it; one that the process has given up (madvise(2), mremap(2)) or that a mapping has
/// grown by becomes zero, as it would in anonymous memory. For one thread: so nothing is put between an event being
/// read and it being known here.
class CloneMemory {
public:
    /// `name`: for messages. `pages`: of CloneStore::pagesOf(). `store` outlives this object.
    CloneMemory(std::string name, UniqueFd userfaultfd, LazyPageMap pages, CloneStore& store);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Takes what has happened, and serves it. Returns the memory of processes that were born. Throws Error.
    [[nodiscard]] std::vector<std::unique_ptr<CloneMemory>> serve();
    /// Something couldn't be answered yet: serve() is to be called soon, without an event.
    [[nodiscard]] bool waits() const noexcept { return !faults_.empty(); }

    /// Maps some pages before anybody touches them. False if there are none left. Throws Error.
    bool mapAhead();

    /// Whether its process has ended or executed another program. Looks, by serving a page that needn't be.
    [[nodiscard]] bool isGone();

private:
    void apply(kernel::UffdEvent& event, std::vector<std::unique_ptr<CloneMemory>>& children);
    /// True if it was answered.
    bool answer(std::uint64_t page);
    kernel::Supplied map(const LazyPageMap::Piece& piece);

    const std::string name_;
    UniqueFd fd_;
    LazyPageMap pages_;
    CloneStore& store_;
    std::vector<std::uint64_t> faults_;
    std::uint64_t ahead_ = 0;  ///< where mapAhead() goes on
    bool gone_ = false;
};

}  // namespace criu::memory
