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

/// Functions that find and compare the driver's libraries that processes have mapped. A restore needs identical
/// libraries: dumped memory contains addresses of their code, and their interface to the kernel driver changes with
/// each version.
namespace criu::cuda {

/// Library of the driver that a process has mapped.
struct Library {
    std::string path;     ///< path in the mount namespace and root directory of the process
    std::string buildId;  ///< build id of the ELF file in hexadecimal digits
    bool outside = true;  ///< true if the process has the mount namespace and root directory of criu
    friend auto operator<=>(const Library&, const Library&) = default;
};

/// Returns true if the path has the file name of a driver library.
[[nodiscard]] bool isDriverLibrary(std::string_view path);

/// Returns the driver libraries that a process has mapped. Omits files without build id or name, because criu can't
/// compare such files. Takes about 0.1 ms.
[[nodiscard]] std::set<Library> driverLibraries(HostPid pid);

/// Compares libraries of this machine with the dumped libraries. Throws Error with both build ids if one differs. If a
/// container had the library, a difference is only a warning: the restore compares the container's file when it opens
/// the file.
void compareLibraries(const std::vector<Library>& then, Log& log);

}  // namespace criu::cuda
