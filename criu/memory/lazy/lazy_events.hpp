// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/memory/lazy/lazy_pages.hpp"

namespace criu::memory {

/// Child process that inherited lazy pages.
struct LazyChild {
    UniqueFd userfaultfd;
    LazyPageMap pages;
};

/// Result of followEvents().
struct LazyEvents {
    std::vector<std::uint64_t> faults;  ///< addresses of pages on which threads of the process faulted
    std::vector<LazyChild> children;
};

/// Reads all pending userfaultfd events of a process, and makes the process' changes of mappings in `pages`. Wakes
/// threads that wait for a page which such a change affects, so that they access it again. Returns the faults, which
/// the caller must serve. The kernel returns faults before earlier events, so a move may have put a lazy page at a
/// faulting address. Throws Error.
[[nodiscard]] LazyEvents followEvents(int userfaultfd, LazyPageMap& pages);

}  // namespace criu::memory
