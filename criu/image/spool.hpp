// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "criu/image/image_dir.hpp"

namespace criu {

/// A directory in memory that nobody else sees, for images on their way: a tmpfs that is mounted nowhere, and gone with
/// the last descriptor of it, however criu ends. `limit`: bytes that it may hold; by default the kernel's own limit,
/// half of the machine's memory. `name`: in messages. Needs Linux 5.2 and CAP_SYS_ADMIN. Throws Error.
[[nodiscard]] ImageDir makeSpool(std::optional<std::uint64_t> limit, std::string name = "the stream");

/// Removes all files of such a directory, whose memory is free when nobody has them open any more.
void emptySpool(const ImageDir& spool) noexcept;

}  // namespace criu
