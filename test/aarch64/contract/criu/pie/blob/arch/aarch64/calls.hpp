// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace criu::pie::arch {

std::int64_t compatCall(std::int64_t number, const std::uint64_t (&args)[6]) noexcept;
std::int64_t cloneThread(const std::uint64_t* cloneArgs, std::uint64_t size, void (*entry)(std::uint64_t),
                         std::uint64_t argument) noexcept;

}  // namespace criu::pie::arch
