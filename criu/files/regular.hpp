// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/files/file_kind.fwd.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/ghost_file.hpp"
#include "criu/files/path_open.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/kernel/created_name.hpp"
#include "images/regfile.fwd.hpp"
#include "images/remap-file-path.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::files {
class FileDump;
class FileRestore;
struct OpenFd;
}  // namespace criu::files

namespace criu::kernel {
class FdStore;
class Usernsd;
class PlaceholderProcess;
}  // namespace criu::kernel

namespace criu::model {
class IdMap;
struct Options;
}  // namespace criu::model

/// Files with a path: regular files, directories, devices without state, and paths without a descriptor (programs,
/// mapped files, working directories).
namespace criu::files {

/// Prefix of temporary hard links, followed by digits and dots; equal to that of CRIU 4.2.
inline constexpr std::string_view kLinkRemapPrefix = "link_remap.";

/// Dump half: finds a path that leads to a file again at the restore. A deleted file becomes a ghost file. A file that
/// lost its name and has others gets a temporary hard link (--link-remap).
class PathDump {
public:
    explicit PathDump(std::uint64_t ghostLimit) : ghosts_(ghostLimit) {}

    /// Fills a regular-file entry except its owner. Adds remaps that it needs.
    void fill(const OpenFd& file, std::uint32_t flags, bool wantBuildId, RegFileEntry& out, FileDump& dump);

    /// Writes remap-fpath.img if there are remaps.
    void finish(const ImageDir& images);

    /// True if the inode is a deleted file that images contain.
    [[nodiscard]] bool hasGhost(dev_t device, ino_t inode) const { return ghosts_.has(device, inode); }

    /// Removes the temporary hard links, because the dump failed or the processes keep running.
    void removeLinks(Log& log) noexcept;
    /// Keeps them for the restore, because the processes have ended.
    void leaveLinks() noexcept;

private:
    /// Finds a path that leads to the file, in place; adds a remap if there is none.
    void findPath(const OpenFd& file, std::string& path, RegFileEntry& out, FileDump& dump);
    /// Adds a remap for a path under /proc whose process has ended.
    void remapDeadProcess(const OpenFd& file, std::string& path, const RegFileEntry& out, FileDump& dump);
    /// True if a file's mount is in the tree's mount namespace.
    [[nodiscard]] bool isMounted(const OpenFd& file, const TreeRoot& tree);
    void remap(const OpenFd& file, const std::string& path, RegFileEntry& out, FileDump& dump);
    /// Returns another name of a file in the directory of `path`, on the same mount; nothing if there is none. Ignores
    /// links of --link-remap. Of several names it returns the first in alphabetical order.
    static std::optional<std::string> otherName(const OpenFd& file, const std::string& path, const FileDump& dump);
    FileId linkRemap(const OpenFd& file, const std::string& path, FileDump& dump);

    GhostFileDump ghosts_;
    std::vector<RemapFilePathEntry> remaps_;
    std::set<TreePid> deadProcesses_;              ///< one remap covers all files of a process
    std::optional<kernel::MountTable> ownMounts_;  ///< criu's mounts; read when needed
    std::map<std::pair<dev_t, ino_t>, FileId> linked_;
    std::vector<kernel::CreatedName> links_;
};

/// Restore half of remaps; runs in the coordinator before any process exists. Creates deleted files as O_PATH
/// descriptors that all processes inherit, and removes their names at once.
class PathRemaps {
public:
    /// Reads remap-fpath.img.
    void load(const ImageDir& images);

    /// Stores the links that removeLinks() removes. Throws Error if images name other files than links of a dump.
    void noteLinks(FileRestore& restore);

    /// Creates the files. Runs in the process that all others descend from, or before any exists. `ids`: translates
    /// owners. All processes inherit the descriptors through `store`.
    void create(FileRestore& restore, const model::IdMap& ids, kernel::FdStore& store);

    /// Number of descriptors that create() makes.
    [[nodiscard]] std::size_t count() const noexcept { return remaps_.size(); }

    /// Sets the mounts that no path leads to, and the function that links files between mounts.
    void setMounts(HiddenMounts hidden, MountLinker linker) {
        hidden_ = std::move(hidden);
        linker_ = std::move(linker);
    }

    /// Returns a path that leads to an entry's file.
    [[nodiscard]] std::string pathTo(const RegFileEntry& entry) const;
    /// Returns a usable path for a path on a mount, by the mount's image id.
    [[nodiscard]] std::string pathTo(int mount, const std::string& path) const;

    /// Returns the hidden directory that contains a path on a mount; null if a path leads there.
    [[nodiscard]] const HiddenDirectory* findHidden(int mount, std::string_view path) const {
        return files::findHidden(hidden_, mount, path);
    }

    /// True if the file's path was lost, so that images contain the file or the dump linked it.
    [[nodiscard]] bool has(FileId regular) const { return remaps_.contains(regular); }
    /// Returns the temporary link; null if it has none. Valid after noteLinks().
    [[nodiscard]] const std::string* linkOf(FileId regular) const;

    /// Returns the descriptor of a remapped entry; -1 for others.
    [[nodiscard]] int find(FileId regular) const;

    /// True if a process with files in /proc had ended at the dump. A placeholder must exist while they are opened.
    [[nodiscard]] bool hadEnded(TreePid pid) const { return deadProcesses_.contains(pid); }
    [[nodiscard]] const std::set<TreePid>& deadProcesses() const noexcept { return deadProcesses_; }

    /// Returns the descriptor of a deleted file by its dumped inode, device in the images' form (minor in the low 20
    /// bits); -1 if it is no ghost.
    [[nodiscard]] int findGhost(std::uint32_t device, std::uint64_t inode) const;

    /// Removes the dump's temporary hard links after a successful restore, in the tree's mount namespace. Each is
    /// removed only while it leads to the file that create() restored from it.
    void removeLinks(Log& log) const noexcept;

private:
    struct Remap {
        std::uint32_t id = 0;
        RemapType type{};
    };
    std::map<FileId, Remap> remaps_;
    std::set<TreePid> deadProcesses_;
    std::map<FileId, UniqueFd> fds_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, FileId> ghosts_;
    /// Stores the inode that a link of the dump leads to.
    void noteLinked(FileId link, int file);

    std::map<FileId, std::string> links_;
    /// Inodes that links_ lead to, in its order. Shared memory, because create() may run in a child, and removeLinks()
    /// reads them in the coordinator.
    Mapping linked_;
    HiddenMounts hidden_;
    MountLinker linker_;  ///< empty: the tree is in criu's mount namespace

    [[nodiscard]] LinkAcross across(const RegFileEntry& from, const std::string& suffix, const RegFileEntry& to) const;
};

/// Creates a placeholder process for a path in /proc whose process had ended at the dump; null for other paths. The
/// caller keeps it while the file is opened.
std::unique_ptr<kernel::PlaceholderProcess> createPlaceholderOwner(const RegFileEntry& entry, const PathRemaps& remaps);

/// Opens the file of an entry with `flags` at position 0.
UniqueFd openRegular(const RegFileEntry& entry, int flags, const PathRemaps& remaps, const PathOpening& opening);

/// The kind. It claims every file with a path, so it must be last in the list.
std::unique_ptr<FileKindDump> makeRegularDump(PathDump& paths);
std::unique_ptr<FileKindRestore> makeRegularRestore(const PathRemaps& remaps);

}  // namespace criu::files
