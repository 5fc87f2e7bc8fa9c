// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/created_name.hpp"
#include "images/mnt.fwd.hpp"

namespace criu {
class Arena;
}

namespace criu::model {
class IdMap;
}

/// Mounts of regular files that have been deleted. Nobody but the mount has such a file, so images have its content.
namespace criu::namespaces {

/// Throws Error if a mount (a descriptor of it) isn't of a regular file, or of one that has other names or more content
/// than `limit` bytes. A directory is none of these and returns false: nothing can be in it.
[[nodiscard]] bool isDeletedFile(int mount, std::uint64_t limit);

/// The file, for an image.
[[nodiscard]] MntDeletedFileEntry* describeDeletedFile(int mount, const model::IdMap& ids, Arena& arena);

/// Directories and files that are made to be mounted, and then deleted, as they were. They have a name until the mount
/// is in its place: the kernel puts mounts of what has none nowhere (ENOENT of d_set_mounted()).
class DeletedRoots {
public:
    /// Return a mount of what they have made, at a path below another mount. Throw Error. `entry` outlives this object.
    [[nodiscard]] UniqueFd addDirectory(int below, const std::string& path);
    [[nodiscard]] UniqueFd addFile(int below, const std::string& path, const MntDeletedFileEntry& entry);

    /// All mounts are in their places: removes the names. Throws Error.
    void remove();

private:
    struct Root {
        kernel::CreatedName name;
        UniqueFd file;                               ///< open for writing; nothing for a directory
        const MntDeletedFileEntry* entry = nullptr;  ///< owner, mode and times, which are set last
    };

    std::vector<Root> roots_;
};

}  // namespace criu::namespaces
