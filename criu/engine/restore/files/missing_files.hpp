// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace criu {
struct Refusal;
}

namespace criu::engine {
class PlannedRestore;

/// Path that doesn't exist although a process needs it.
struct MissingFile {
    std::string path;
    std::string use;  ///< use of the file, such as "the program of process 7"
    /// True for the temporary name of a link remap (--link-remap). If it is missing, the images were probably restored
    /// before: the first restore removes such names.
    bool ofDump = false;
};

/// Returns all missing files without duplicates. Omits files that images contain, files that the user passes, and files
/// of /proc. `root`: directory in which the function looks up paths; "" for the root directory.
[[nodiscard]] std::vector<MissingFile> findMissingFiles(const PlannedRestore& planned, const std::string& root);

/// Returns the missing files, and adds files that differ from the dumped ones to `changed`. The restore will
/// refuse these files because of their size, mode or build id.
[[nodiscard]] std::vector<MissingFile> findMissingFiles(const PlannedRestore& planned, const std::string& root,
                                                        std::vector<Refusal>& changed);

/// Returns true if the lookup of a name may send a request to a FUSE server. This is possible if the name is below one
/// of `mountPoints`, or if its path has a symbolic link.
[[nodiscard]] bool mayReachFuseServer(const std::string& name, const std::vector<std::string>& mountPoints);

/// Returns a text such as "/usr/bin/x (the program of process 7)".
[[nodiscard]] std::string describe(const MissingFile& file);

/// Throws Error (ENOENT) with a list of all missing files that processes need. Checks nothing if a path leads to
/// different files in the tree than in criu (private mounts or root). Call it after RestoredFiles::noteLinks().
void requireFiles(const PlannedRestore& planned);

}  // namespace criu::engine
