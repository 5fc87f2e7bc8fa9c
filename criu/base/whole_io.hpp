// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// pread(2) and pwrite(2) of all of it, however many calls that takes. Throw Error, also where the file ends too early.
void readAt(int fd, std::span<std::byte> into, std::uint64_t offset);
void writeAt(int fd, std::span<const std::byte> from, std::uint64_t offset);

/// close(2) of a file that was written: network file systems, and those with quotas, say as late as that what they
/// couldn't store. The descriptor is gone even then. Throws Error.
void closeWritten(UniqueFd file, std::string_view name);

}  // namespace criu
