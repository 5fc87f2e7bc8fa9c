// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

namespace criu {

std::size_t machinePageSize() noexcept;
std::uint64_t taskSize() noexcept;
std::uint64_t compatTaskSize() noexcept;

}  // namespace criu
