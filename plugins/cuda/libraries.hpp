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

/// Libraries of the driver that processes have in memory. What was dumped refers to their code by address, and they
/// talk to the kernel's driver in a form that changes with each version: a restore needs the very same files.
namespace criu::cuda {

/// One of them.
struct Library {
    std::string path;     ///< as the process sees it
    std::string buildId;  ///< hexadecimal digits
    bool outside = true;  ///< the process and criu see the same files
    friend auto operator<=>(const Library&, const Library&) = default;
};

/// Whether a file is such a library, by its name.
[[nodiscard]] bool isDriverLibrary(std::string_view path);

/// Those of a process that runs. What has no build id, or no name any more, is left out: nothing can be said about it.
/// Costs about 0.1 ms.
[[nodiscard]] std::set<Library> driverLibraries(HostPid pid);

/// Throws Error, which names both build ids, if a library that was dumped is another one here. Of processes with files
/// of their own (a container's) those files aren't there yet: the restore compares them when it opens them, and here it
/// is only warned if the one that criu finds under the same name is another.
void compareLibraries(const std::vector<Library>& then, Log& log);

}  // namespace criu::cuda
