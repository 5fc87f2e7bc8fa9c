// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/kernel/mm/uffd_missing.hpp"
#include "criu/memory/lazy/lazy_pages.hpp"

namespace criu::memory {

/// Does to pages that are still to come what the process has done to its memory (Move, Remove or Unmap), and has
/// threads that wait for one of them touch it again: they get what is there now.
void follow(const kernel::UffdEvent& event, int userfaultfd, LazyPageMap& pages);

}  // namespace criu::memory
