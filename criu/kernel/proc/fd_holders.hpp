// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu::kernel {

/// Returns a description of the first process that has a file open, such as "process 7 (cat)", for messages. Returns an
/// empty text if the caller can see no such process. `link`: text of the file's links in /proc/PID/fd, such as
/// "socket:[7]". Slow, because it reads the descriptors of all processes.
[[nodiscard]] std::string describeHolder(std::string_view link);

}  // namespace criu::kernel
