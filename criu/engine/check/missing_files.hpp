// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

namespace criu::engine {
class PlannedRestore;

/// A path that processes need and that leads nowhere.
struct MissingFile {
    std::string path;
    std::string use;  ///< "the program of process 7"
    /// A temporary name that the dump gave to a deleted file (--link-remap): a restore takes it away again.
    bool ofDump = false;
};

/// All of them, each once, where paths are looked up from `root` ("" for the root directory). Files that images hold,
/// or that the user gives, aren't among them; nor are those of /proc, which come with the processes.
[[nodiscard]] std::vector<MissingFile> findMissingFiles(const PlannedRestore& planned, const std::string& root);

/// Whether a lookup of a name could ask the server of a FUSE file system for something, of which these are the mount
/// points: it is below one of them, or a symbolic link on the way may lead there.
[[nodiscard]] bool mayReachFuseServer(const std::string& name, const std::vector<std::string>& mountPoints);

/// "/usr/bin/x (the program of process 7)"
[[nodiscard]] std::string describe(const MissingFile& file);

}  // namespace criu::engine
