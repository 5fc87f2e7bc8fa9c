// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu::kernel {

/// Returns the first process that has a file open, such as "process 7 (cat)", for messages; empty if the caller sees
/// none. `link`: text of the file's links in /proc/PID/fd ("socket:[7]"). Reads the descriptors of all processes,
/// which takes long.
[[nodiscard]] std::string describeHolder(std::string_view link);

}  // namespace criu::kernel
