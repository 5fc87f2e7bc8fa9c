// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "criu/image/image_dir.hpp"

namespace criu {

/// Makes a spool: a tmpfs without a mount point, for images in transit. The kernel frees it with the last
/// descriptor, however criu ends. `limit` is its maximum size in bytes; the kernel's default is half of the
/// machine's memory. `name` appears in messages. Needs Linux 5.2 and CAP_SYS_ADMIN. Throws Error.
[[nodiscard]] ImageDir makeSpool(std::optional<std::uint64_t> limit, std::string name = "the stream");

/// Removes all files of a spool. The kernel frees the memory when all of them are closed.
void emptySpool(const ImageDir& spool) noexcept;

}  // namespace criu
