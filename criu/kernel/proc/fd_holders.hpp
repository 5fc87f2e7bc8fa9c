// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu::kernel {

/// The first process that has a file open, found by what links of /proc/PID/fd read ("socket:[7]"), for messages:
/// "process 7 (cat)"; empty if the caller may not see any. Looks at the descriptors of all processes, which takes long.
[[nodiscard]] std::string describeHolder(std::string_view link);

}  // namespace criu::kernel
