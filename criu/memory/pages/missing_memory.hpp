// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "criu/base/unique_fd.hpp"
#include "criu/memory/pages/ranges.hpp"

namespace criu::memory {

/// Anonymous memory of this process that has no pages yet. criu copies content to it by userfaultfd(2): the kernel then
/// needn't clear a page before it gets content (mfill_atomic_pte_copy(), Linux 4.3). From a mapped pages file in tmpfs,
/// this takes a sixth less processor time than reads into new pages.
/// While this object exists, a thread must not access an absent page of the memory: it would wait until the destructor
/// runs. Pages that weren't copied then read as zeroes.
class MissingMemory {
public:
    /// Adds a whole mapping. Returns false if the kernel refuses: it lacks UFFD_USER_MODE_ONLY (before Linux 5.11), a
    /// security module forbids userfaultfd(2), another userfaultfd has the mapping, or no descriptor is free.
    [[nodiscard]] bool add(const Range& mapping) noexcept;

    /// Copies complete pages to memory that add() has added. The content may be a PageContent::View. May be called from
    /// any thread. Throws Error.
    void copy(std::uint64_t at, std::span<const std::byte> content) const;

private:
    UniqueFd userfaultfd_;
    bool refused_ = false;  ///< true if the kernel gives no userfaultfd
};

}  // namespace criu::memory
