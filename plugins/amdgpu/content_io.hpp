// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace criu::amdgpu {

/// Writes all of the bytes to a file, or throws Error. They may be memory of a GPU, which isn't always to be had: that
/// is an Error then (EFAULT), where an access by this program would be a SIGBUS.
void writeContent(int file, std::span<const std::byte> data, std::uint64_t offset);
/// Reads them; throws Error, too, if the file ends before.
void readContent(int file, std::span<std::byte> data, std::uint64_t offset);

}  // namespace criu::amdgpu
