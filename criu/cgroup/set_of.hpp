// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "images/core.fwd.hpp"

namespace criu::cgroup {

/// Returns the number of a thread's cgroup set; 0 if the image has none.
[[nodiscard]] std::uint32_t setOf(const CoreEntry& core) noexcept;

}  // namespace criu::cgroup
