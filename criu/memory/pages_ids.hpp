// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>

namespace criu::memory {

/// Numbers of pages files: one counter for all of a dump, from 1. Threads may share it.
class PagesIds {
public:
    std::uint32_t next() noexcept { return next_.fetch_add(1, std::memory_order_relaxed); }

private:
    std::atomic<std::uint32_t> next_{1};
};

}  // namespace criu::memory
