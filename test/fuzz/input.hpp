// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::fuzz {

/// Creates a file in memory with the given content, positioned at its start.
inline UniqueFd fileOf(std::span<const std::uint8_t> content) {
    UniqueFd fd(sys(::memfd_create("input", MFD_CLOEXEC), "make a memfd"));
    if (sys(::pwrite(fd.get(), content.data(), content.size(), 0), "fill a memfd") !=
        static_cast<ssize_t>(content.size()))
        fail("short write to a memfd");
    return fd;
}

/// Traps unless a condition holds, which must be true for any input.
inline void require(bool holds) {
    if (!holds)
        __builtin_trap();
}

}  // namespace criu::fuzz
