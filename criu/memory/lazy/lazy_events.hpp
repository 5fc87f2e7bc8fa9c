// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/kernel/mm/uffd_missing.hpp"
#include "criu/memory/lazy/lazy_pages.hpp"

namespace criu::memory {

/// Applies a Move, Remove or Unmap event to the lazy pages. Wakes threads that wait for an affected page, so that
/// they touch it again.
void follow(const kernel::UffdEvent& event, int userfaultfd, LazyPageMap& pages);

}  // namespace criu::memory
