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
    Kept,     ///< the name stays
    Removed,  ///< the name is removed at once, so the directory may be missing
};
/// directories, by the image id of the mount that they are on
using NamedDirectories = std::map<int, std::map<std::string, DirectoryUse>>;

/// Functions of other modules that a restore of mounts calls.
struct MountHelpers {
    /// Lets a plugin mount on a path; `id` is the mount's id in the images.
    std::function<void(int id, const std::string& path)> putByPlugin;
    /// Called in the first process when all mounts are in place and still writable. Takes over the mounts that no path
    /// leads to, and creates deleted files.
    std::function<void(files::HiddenMounts hidden, files::MountLinker linker, kernel::FdStore& store)> makeDeletedFiles;
    /// Returns directories in which processes create socket names when mounts are in place.
    std::function<NamedDirectories()> namedDirectories;
};

/// Returns null if the tree was in criu's mount namespace and joins no other.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeMountRestore(const RestoreInputs& inputs, MountHelpers helpers);

}  // namespace criu::namespaces
