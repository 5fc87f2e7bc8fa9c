// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "criu/image/image_dir.hpp"

namespace criu {

/// Creates a spool: a tmpfs without a mount point, for images that another program or machine sends or receives. The
/// kernel frees the spool when its last descriptor is closed, even if criu is killed. Needs Linux 5.2 and
/// CAP_SYS_ADMIN. Throws Error. `limit`: maximum size in bytes; if unset, half of the machine's memory. `name` appears
/// in messages.
[[nodiscard]] ImageDir makeSpool(std::optional<std::uint64_t> limit, std::string name = "the stream");

/// Removes all files of a spool. The kernel frees the memory of a file when the file's last descriptor is closed.
void emptySpool(const ImageDir& spool) noexcept;

}  // namespace criu
