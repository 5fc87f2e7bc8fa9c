// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>

#include "criu/base/arch.hpp"

// clang-format off
#include CRIU_ARCH_HEADER(base/arch/CRIU_ARCH/machine.hpp)
// clang-format on

namespace criu {

/// Rounds `bytes` up to a multiple of this machine's page size.
inline std::size_t pageAlignUp(std::size_t bytes) noexcept {
    return (bytes + machinePageSize() - 1) & ~(machinePageSize() - 1);
}

}  // namespace criu
