// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compare>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu {
class Log;
}

/// The driver's libraries that processes have mapped. Dumped memory refers to their code by address, and they use a
/// kernel interface that changes with each version. So a restore needs identical files.
namespace criu::cuda {

/// A mapped library of the driver.
struct Library {
    std::string path;     ///< path in the process' view
    std::string buildId;  ///< hexadecimal digits
    bool outside = true;  ///< the process and criu see the same files
    friend auto operator<=>(const Library&, const Library&) = default;
};

/// True if the file name is one of a driver library.
[[nodiscard]] bool isDriverLibrary(std::string_view path);

/// Returns the driver libraries of a running process. Leaves out files without build id or name, which can't be
/// compared. Takes about 0.1 ms.
[[nodiscard]] std::set<Library> driverLibraries(HostPid pid);

/// Throws Error with both build ids if this machine has another library than the dump. A container's files don't exist
/// yet: criu only warns if its own file differs, and the restore compares theirs when it opens them.
void compareLibraries(const std::vector<Library>& then, Log& log);

}  // namespace criu::cuda
