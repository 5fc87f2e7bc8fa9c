// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "images/remap-file-path.fwd.hpp"

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

/// Ghost files: deleted files that processes have open, and whose content is in the images.
namespace criu::files {

/// Ghost files of a dump. This class assigns a number to each deleted inode and writes the inode once.
class GhostFileDump {
public:
    /// `limit`: maximum size of a ghost file in bytes on disk (--ghost-limit).
    explicit GhostFileDump(std::uint64_t limit) : limit_(limit) {}

    /// Returns the number of the ghost file for `file`. Writes the ghost file if it is new. Throws Error, for instance
    /// if a stop is requested.
    std::uint32_t add(const OpenFd& file, const ImageDir& images, const model::IdMap& ids, StopRequest& stop);

    [[nodiscard]] bool has(dev_t device, ino_t inode) const { return ids_.contains({device, inode}); }

private:
    void write(std::uint32_t id, const OpenFd& file, const ImageDir& images, const model::IdMap& ids,
               StopRequest& stop) const;

    std::uint64_t limit_;
    std::map<std::pair<dev_t, ino_t>, std::uint32_t> ids_;
};

/// Returns the number of the ghost file to which an image entry refers; nothing for an entry of another type.
[[nodiscard]] std::optional<std::uint32_t> ghostOf(const RemapFilePathEntry& entry);

/// Function that hard-links a file to a path on another mount of the same file system. It appends `suffix` to the path
/// of the existing name. Returns an O_PATH descriptor of the new name's directory on a mount that allows writes,
/// because the other mount may be read-only. Throws Error.
using LinkAcross = std::function<UniqueFd(std::string_view suffix)>;

/// Ghost file of a restore. It has a temporary name, which the destructor removes.
class GhostFile {
public:
    /// Creates the inode of the ghost file `id` with content, owner, mode and times. `path`: old name of the file; the
    /// temporary name is in the same directory. `ids`: id map for the owner.
    GhostFile(std::uint32_t id, const std::string& path, const ImageDir& images, const model::IdMap& ids);
    GhostFile(const GhostFile&) = delete;
    GhostFile& operator=(const GhostFile&) = delete;

    /// Opens the ghost file. If `path` is free, /proc shows `path` as the name of the open file; otherwise, the
    /// temporary name. Returns an O_PATH descriptor if such a descriptor keeps the deleted file. Creates missing
    /// directories, which the destructor removes. `across`: see openUnderName().
    [[nodiscard]] UniqueFd openAs(const std::string& path, const LinkAcross& across = {});

    /// Returns the text that the temporary name has after the path; empty if the temporary name is the path itself.
    [[nodiscard]] const std::string& suffix() const noexcept { return suffix_; }

    /// Returns device and inode number at the dump. The device is in the form of images (minor number in the low 20
    /// bits).
    [[nodiscard]] std::pair<std::uint32_t, std::uint64_t> oldInode() const noexcept { return oldInode_; }

private:
    [[nodiscard]] UniqueFd openOnMountOf(const std::string& path) const;

    kernel::CreatedDirectories parents_;  ///< missing directories that criu created
    kernel::CreatedName temporary_;
    std::string suffix_;
    std::pair<std::uint32_t, std::uint64_t> oldInode_;
    bool hasOneName_ = false;  ///< true for a directory, and for a device node in a file system that isn't mounted
};

/// Opens a file in such a way that /proc shows `path` as its name. If `path` is free, links the file to `path`, opens
/// it there, and removes the link. `file`: O_PATH descriptor. The returned descriptor keeps the file. `across`: links
/// the file if `path` is on another mount, because link(2) fails then. The file is then opened on that mount.
UniqueFd openUnderName(UniqueFd file, const std::string& path, const LinkAcross& across = {});

}  // namespace criu::files
