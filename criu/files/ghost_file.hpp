// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/created_name.hpp"

namespace criu {
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::files {
struct OpenFd;
}

namespace criu::model {
class IdMap;
}

/// Ghost files: deleted files that are open, stored in the images.
namespace criu::files {

/// Dump half: numbers each deleted inode and writes it once.
class GhostFileDump {
public:
    /// `limit`: largest content that images may contain (--ghost-limit), in bytes on disk.
    explicit GhostFileDump(std::uint64_t limit) : limit_(limit) {}

    /// Returns the number of the ghost for this file; writes it if it is new. Throws Error, also as soon as `stop` is
    /// requested.
    std::uint32_t add(const OpenFd& file, const ImageDir& images, const model::IdMap& ids, StopRequest& stop);

    [[nodiscard]] bool has(dev_t device, ino_t inode) const { return ids_.contains({device, inode}); }

private:
    void write(std::uint32_t id, const OpenFd& file, const ImageDir& images, const model::IdMap& ids,
               StopRequest& stop) const;

    std::uint64_t limit_;
    std::map<std::pair<dev_t, ino_t>, std::uint32_t> ids_;
};

/// Hard-links a file to a path on another mount of the same file system, with `suffix` added to the path. Throws Error.
using LinkAcross = std::function<void(std::string_view suffix)>;

/// Restore half: creates ghosts under a temporary name, which the destructor removes.
class GhostFile {
public:
    /// Creates the inode of ghost `id` beside `path` (its old name) with content, owner, mode and times. `ids`:
    /// translates the owner.
    GhostFile(std::uint32_t id, const std::string& path, const ImageDir& images, const model::IdMap& ids);
    GhostFile(const GhostFile&) = delete;
    GhostFile& operator=(const GhostFile&) = delete;

    /// Opens the ghost under the name `path` if that is free, else under its temporary name. The name is removed when
    /// this object ends. The descriptor is O_PATH where that keeps a deleted file. Creates missing directories and
    /// removes them again. `across`: see openUnderName().
    [[nodiscard]] UniqueFd openAs(const std::string& path, const LinkAcross& across = {});

    /// Suffix of the temporary name behind the path; empty if the path itself is the name.
    [[nodiscard]] const std::string& suffix() const noexcept { return suffix_; }

    /// Device (minor in the low 20 bits) and inode at the dump.
    [[nodiscard]] std::pair<std::uint32_t, std::uint64_t> oldInode() const noexcept { return oldInode_; }

private:
    kernel::CreatedDirectories parents_;  ///< missing directories that were created
    kernel::CreatedName temporary_;
    std::string suffix_;
    std::pair<std::uint32_t, std::uint64_t> oldInode_;
    bool hasOneName_ = false;  ///< a directory, or a device node in a detached file system
};

/// Opens an existing file (`file`: O_PATH) so that its name reads `path`: links it there for a moment if that name is
/// free. The returned descriptor keeps the file after the name is removed. `across`: for a path on another mount, where
/// link(2) refuses; the file is then opened on that mount, or Error is thrown.
UniqueFd openUnderName(UniqueFd file, const std::string& path, const LinkAcross& across = {});

}  // namespace criu::files
