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

/// Reads all pending userfaultfd events of a process, and applies its changes of mappings to `pages`. Wakes threads
/// that wait for an affected page, so that they access the page again.
/// The caller serves the returned faults afterwards. The kernel returns faults before earlier events, so a move may
/// have put a lazy page at a faulting address. Throws Error.
[[nodiscard]] LazyEvents followEvents(int userfaultfd, LazyPageMap& pages);

}  // namespace criu::memory
