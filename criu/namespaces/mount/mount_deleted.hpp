// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "images/mnt.fwd.hpp"

namespace criu {
class Arena;
}

namespace criu::model {
class IdMap;
}

/// Mounts of deleted regular files. Images contain the content of such a file, because only its mount leads to the
/// file.
namespace criu::namespaces {

/// Returns true if `mount` (a descriptor) is a mount of a deleted regular file, and false if it is a mount of a
/// directory. Throws Error for other file types, for files with other names, and for files with more than `limit`
/// bytes.
[[nodiscard]] bool isDeletedFile(int mount, std::uint64_t limit);

/// Returns the image message of the file.
[[nodiscard]] MntDeletedFileEntry* describeDeletedFile(int mount, const model::IdMap& ids, Arena& arena);

/// Directories and files that a restore creates, mounts and then deletes, so that their mounts equal the dumped ones.
/// The restore deletes the names only after it has attached the mounts, because the kernel attaches no mount of a
/// deleted file (ENOENT of d_set_mounted()).
class DeletedRoots {
public:
    /// addDirectory() and addFile() create a directory or file at `path` below another mount. They return a mount of
    /// the new directory or file. Throw Error. `entry` must outlive this object.
    [[nodiscard]] UniqueFd addDirectory(int below, const std::string& path);
    [[nodiscard]] UniqueFd addFile(int below, const std::string& path, const MntDeletedFileEntry& entry);

    /// Removes the names. Must follow the attachment of all mounts. Throws Error.
    void remove();

private:
    struct Root {
        kernel::CreatedName name;
        UniqueFd file;  ///< descriptor that is open for writing; empty for a directory
        /// Owner, mode and times, which remove() sets; null for a directory.
        const MntDeletedFileEntry* entry = nullptr;
    };

    std::vector<Root> roots_;
};

}  // namespace criu::namespaces
