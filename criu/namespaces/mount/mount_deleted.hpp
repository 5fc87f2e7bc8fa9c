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

/// Mounts of regular files that were deleted. Only the mount leads to such a file, so images contain its content.
namespace criu::namespaces {

/// Returns true for a mount (a descriptor) of a deleted regular file, false for a directory, which must be empty.
/// Throws Error for other types, for files with other names, and for more than `limit` bytes.
[[nodiscard]] bool isDeletedFile(int mount, std::uint64_t limit);

/// Returns the file's image entry.
[[nodiscard]] MntDeletedFileEntry* describeDeletedFile(int mount, const model::IdMap& ids, Arena& arena);

/// Directories and files that are created, mounted and then deleted, as in the dumped tree. They keep a name until the
/// mount is attached: the kernel attaches no mount of a deleted file (ENOENT of d_set_mounted()).
class DeletedRoots {
public:
    /// Create a directory or file at a path below another mount, and return a mount of it. Throw Error. `entry`
    /// outlives this object.
    [[nodiscard]] UniqueFd addDirectory(int below, const std::string& path);
    [[nodiscard]] UniqueFd addFile(int below, const std::string& path, const MntDeletedFileEntry& entry);

    /// Removes the names, when all mounts are attached. Throws Error.
    void remove();

private:
    struct Root {
        kernel::CreatedName name;
        UniqueFd file;                               ///< open for writing; empty for a directory
        const MntDeletedFileEntry* entry = nullptr;  ///< owner, mode and times, which are set last
    };

    std::vector<Root> roots_;
};

}  // namespace criu::namespaces
