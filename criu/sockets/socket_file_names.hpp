// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

/// Names of the file that a Unix socket is bound to.
namespace criu::sockets {

/// Returns the sorted names that the file of `status` has in a directory; empty if the directory can't be read.
[[nodiscard]] std::vector<std::string> namesInDirectory(const std::string& directory, const struct stat& status);

}  // namespace criu::sockets
