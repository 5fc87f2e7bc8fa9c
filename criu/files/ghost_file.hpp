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

/// Deleted files that are still open: carried in the images as ghost files.
namespace criu::files {

/// Dump half: gives each deleted inode one number, and writes it once.
class GhostFileDump {
public:
    /// `limit`: largest content that goes into the images (--ghost-limit), in bytes on disk.
    explicit GhostFileDump(std::uint64_t limit) : limit_(limit) {}

    /// Number of the ghost for this file; written now if it is new. Throws Error, also as soon as `stop` is requested.
    std::uint32_t add(const OpenFd& file, const ImageDir& images, const model::IdMap& ids, StopRequest& stop);

    [[nodiscard]] bool has(dev_t device, ino_t inode) const { return ids_.contains({device, inode}); }

private:
    void write(std::uint32_t id, const OpenFd& file, const ImageDir& images, const model::IdMap& ids,
               StopRequest& stop) const;

    std::uint64_t limit_;
    std::map<std::pair<dev_t, ino_t>, std::uint32_t> ids_;
};

/// Links a file to a path that lies on another mount of the same file system; `suffix` is to be added to that path.
/// Throws Error.
using LinkAcross = std::function<void(std::string_view suffix)>;

/// Restore half: makes ghosts anew, under a temporary name that never outlives this object.
class GhostFile {
public:
    /// Creates the inode of ghost `id` beside `path` (its old name), with content, owner, mode and times. `ids` tell
    /// how the caller calls the owner.
    GhostFile(std::uint32_t id, const std::string& path, const ImageDir& images, const model::IdMap& ids);
    GhostFile(const GhostFile&) = delete;
    GhostFile& operator=(const GhostFile&) = delete;

    /// A descriptor of the ghost whose name reads `path` where that name is free, else the temporary one; in both cases
    /// deleted when this object ends. It is an O_PATH descriptor where that keeps a deleted file. Missing directories
    /// on the way are made and taken away again. `across`: see openUnderName().
    [[nodiscard]] UniqueFd openAs(const std::string& path, const LinkAcross& across = {});

    /// What the temporary name has behind the path that it was made beside; empty if that is its name.
    [[nodiscard]] const std::string& suffix() const noexcept { return suffix_; }

    /// Device (minor in the low 20 bits) and inode it had when it was dumped.
    [[nodiscard]] std::pair<std::uint32_t, std::uint64_t> oldInode() const noexcept { return oldInode_; }

private:
    kernel::CreatedDirectories parents_;  ///< those that were gone as well
    kernel::CreatedName temporary_;
    std::string suffix_;
    std::pair<std::uint32_t, std::uint64_t> oldInode_;
    bool hasOneName_ = false;  ///< of a directory, or of a node where nothing else is
};

/// Opens an existing file (an O_PATH descriptor of it is given) so that its name reads `path`: links it there for a
/// moment if that name is free. What is returned keeps the file when it has no name any more. `across`: for a path on
/// another mount than the file, since link(2) refuses that; the file comes back on that mount, or Error is thrown.
UniqueFd openUnderName(UniqueFd file, const std::string& path, const LinkAcross& across = {});

}  // namespace criu::files
