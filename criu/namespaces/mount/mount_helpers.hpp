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

/// What becomes of a name that is made in a directory.
enum class DirectoryUse : std::uint8_t {
    Kept,     ///< it stays
    Removed,  ///< it is gone again at once, and so may be the directory
};
/// By the id of the mount that they are on, in the images.
using NamedDirectories = std::map<int, std::map<std::string, DirectoryUse>>;

/// What others do while mounts are made.
struct MountHelpers {
    /// Has a plugin put a mount, known by its id in the images, on a path.
    std::function<void(int id, const std::string& path)> putByPlugin;
    /// In the first process, when all mounts are in place and can still be written to: takes over the mounts that no
    /// path leads to, and makes deleted files.
    std::function<void(files::HiddenMounts hidden, files::MountLinker linker, kernel::FdStore& store)> makeDeletedFiles;
    /// Directories in which processes make names (of sockets) when mounts are in their places.
    std::function<NamedDirectories()> namedDirectories;
};

/// Null if the tree was in criu's mount namespace and joins no other.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeMountRestore(const RestoreInputs& inputs, MountHelpers helpers);

}  // namespace criu::namespaces
