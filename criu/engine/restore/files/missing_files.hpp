// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace criu::engine {
class PlannedRestore;

/// A path that a process needs and that doesn't exist.
struct MissingFile {
    std::string path;
    std::string use;  ///< use of the file, such as "the program of process 7"
    /// True for a temporary name that the dump gave to a deleted file (--link-remap). The first restore removes such
    /// names.
    bool ofDump = false;
};

/// Returns all missing files, each once. Paths are looked up from `root` ("" is the root directory). Leaves out files
/// that images contain, files that the user passes, and files of /proc.
[[nodiscard]] std::vector<MissingFile> findMissingFiles(const PlannedRestore& planned, const std::string& root);

/// Returns true if the lookup of a name may send a request to a FUSE server. The name is below one of `mountPoints`, or
/// a symbolic link in the path may lead there.
[[nodiscard]] bool mayReachFuseServer(const std::string& name, const std::vector<std::string>& mountPoints);

/// Returns "/usr/bin/x (the program of process 7)".
[[nodiscard]] std::string describe(const MissingFile& file);

/// Throws Error (ENOENT) with a list of all missing files that processes need. Checks only trees that see criu's paths.
/// Call after RestoredFiles::noteLinks().
void requireFiles(const PlannedRestore& planned);

}  // namespace criu::engine
