// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "images/core.fwd.hpp"

namespace criu::cgroup {

/// The set of cgroups that a thread was in; 0 if the image doesn't say.
[[nodiscard]] std::uint32_t setOf(const CoreEntry& core) noexcept;

}  // namespace criu::cgroup
