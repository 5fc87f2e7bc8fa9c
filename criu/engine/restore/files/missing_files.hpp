// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace criu::engine {
class PlannedRestore;

/// Path that a process needs and that doesn't exist.
struct MissingFile {
    std::string path;
    std::string use;  ///< use of the file, such as "the program of process 7"
    /// True for the temporary name of a link remap (--link-remap). The first restore of the images removes such names.
    bool ofDump = false;
};

/// Returns all missing files without duplicates. Omits files that images contain, files that the user passes, and files
/// of /proc. `root`: directory in which paths are looked up; "" for the root directory.
[[nodiscard]] std::vector<MissingFile> findMissingFiles(const PlannedRestore& planned, const std::string& root);

/// Returns true if the lookup of a name may send a request to a FUSE server: the name is below one of `mountPoints`, or
/// its path has a symbolic link.
[[nodiscard]] bool mayReachFuseServer(const std::string& name, const std::vector<std::string>& mountPoints);

/// Returns a text such as "/usr/bin/x (the program of process 7)".
[[nodiscard]] std::string describe(const MissingFile& file);

/// Throws Error (ENOENT) with a list of all missing files that processes need. Checks only trees that have criu's
/// mounts and root. Call it after RestoredFiles::noteLinks().
void requireFiles(const PlannedRestore& planned);

}  // namespace criu::engine
