// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "criu/files/tree_root.hpp"

namespace criu::kernel {
class FdStore;
}

namespace criu::namespaces {

class NamespaceRestore;
struct RestoreInputs;

/// What others do while mounts are made.
struct MountHelpers {
    /// Has a plugin put a mount, known by its id in the images, on a path.
    std::function<void(int id, const std::string& path)> putByPlugin;
    /// In the first process, when all mounts are in place and can still be written to: takes over the mounts that no
    /// path leads to, and makes deleted files.
    std::function<void(files::HiddenMounts hidden, files::MountLinker linker, kernel::FdStore& store)> makeDeletedFiles;
};

/// Null if the tree was in criu's mount namespace and joins no other.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeMountRestore(const RestoreInputs& inputs, MountHelpers helpers);

}  // namespace criu::namespaces
