// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "criu/files/tree_root.hpp"

namespace criu::kernel {
class FdStore;
}

namespace criu::namespaces {

class NamespaceRestore;
struct RestoreInputs;

/// Use of a directory in which criu creates a name.
enum class DirectoryUse : std::uint8_t {
    Kept,     ///< the name stays, so the directory must exist
    Removed,  ///< criu removes the name at once, so the directory may be missing
};
/// Paths of directories; the key is the image id of the mount on which they are.
using NamedDirectories = std::map<int, std::map<std::string, DirectoryUse>>;

/// Functions of other modules that a restore of mounts calls.
struct MountHelpers {
    /// Makes a plugin mount a file system at `path`. `id`: mount id in the images.
    std::function<void(int id, const std::string& path)> putByPlugin;
    /// Creates deleted files. `hidden`: mounts to which no path leads; the function keeps them. Called in the first
    /// process when all mounts are attached and still writable.
    std::function<void(files::HiddenMounts hidden, files::MountLinker linker, kernel::FdStore& store)> makeDeletedFiles;
    /// Returns directories in which processes create socket names after all mounts are attached.
    std::function<NamedDirectories()> namedDirectories;
};

/// Returns null if the tree was in criu's mount namespace and joins no other mount namespace.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeMountRestore(const RestoreInputs& inputs, MountHelpers helpers);

}  // namespace criu::namespaces
