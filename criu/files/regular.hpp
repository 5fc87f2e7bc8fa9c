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
#include "criu/kernel/names/created_name.hpp"
#include "images/regfile.fwd.hpp"
#include "images/remap-file-path.hpp"

namespace criu {
class ImageDir;
class Journal;
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

/// Files with a path: regular files, directories, devices without state, and paths to which no descriptor refers
/// (programs, mapped files, working directories).
namespace criu::files {

/// Prefix of temporary hard links, as in CRIU 4.2. Digits and dots follow it.
inline constexpr std::string_view kLinkRemapPrefix = "link_remap.";

/// Paths of a dump: finds a path by which a restore can open a file. A deleted file becomes a ghost file. If a file has
/// lost its name but has other names, criu creates a temporary hard link (--link-remap).
class PathDump {
public:
    explicit PathDump(std::uint64_t ghostLimit) : ghosts_(ghostLimit) {}

    /// Fills a regular-file entry except its signal owner. Adds a remap if no path leads to the file.
    void fill(const OpenFd& file, std::uint32_t flags, bool wantBuildId, RegFileEntry& out, FileDump& dump);

    /// Writes remap-fpath.img if fill() has added remaps.
    void finish(const ImageDir& images);

    /// Returns true if the inode is a deleted file that the images contain.
    [[nodiscard]] bool hasGhost(dev_t device, ino_t inode) const { return ghosts_.has(device, inode); }

    /// Removes the temporary hard links. Called if the dump failed or the processes continue to run.
    void removeLinks(Log& log) noexcept;
    /// Keeps the temporary hard links for a restore. Called if the processes have ended.
    void leaveLinks() noexcept;

private:
    /// Changes `path` to a path that leads to the file. Adds a remap if no path does.
    void findPath(const OpenFd& file, std::string& path, RegFileEntry& out, FileDump& dump);
    /// Adds a remap for a path in the /proc directory of an ended process.
    void remapDeadProcess(const OpenFd& file, std::string& path, const RegFileEntry& out, FileDump& dump);
    /// Returns true if the file's mount is in the tree's mount namespace.
    [[nodiscard]] bool isMounted(const OpenFd& file, const TreeRoot& tree);
    void remap(const OpenFd& file, const std::string& path, RegFileEntry& out, FileDump& dump);
    /// Returns another name of a file in the directory of `path` on the same mount; of several names, the first in
    /// alphabetical order. Ignores links of --link-remap. Returns nullopt if there is no such name.
    static std::optional<std::string> otherName(const OpenFd& file, const std::string& path, const FileDump& dump);
    FileId linkRemap(const OpenFd& file, const std::string& path, FileDump& dump);

    GhostFileDump ghosts_;
    std::vector<RemapFilePathEntry> remaps_;
    /// Pids of ended processes for which a remap exists; one remap covers all files of a process.
    std::set<TreePid> deadProcesses_;
    std::optional<kernel::MountTable> ownMounts_;  ///< mounts of criu; read when first used
    std::map<std::pair<dev_t, ino_t>, FileId> linked_;
    std::vector<kernel::CreatedName> links_;
};

/// Remaps of a restore. The coordinator creates deleted files as O_PATH descriptors before any process exists, and
/// removes their names at once. All processes inherit these descriptors.
class PathRemaps {
public:
    /// Reads remap-fpath.img.
    void load(const ImageDir& images);

    /// Stores the paths of temporary hard links that removeLinks() will remove. Throws Error if a path isn't a name
    /// that a dump creates.
    void noteLinks(FileRestore& restore);

    /// Creates the deleted files. Runs before any process exists, or in the process from which all other processes
    /// descend. `ids`: id map for owners. `store`: makes all processes inherit the descriptors.
    void create(FileRestore& restore, const model::IdMap& ids, kernel::FdStore& store);

    /// Returns the number of descriptors that create() makes.
    [[nodiscard]] std::size_t count() const noexcept { return remaps_.size(); }

    /// Sets the covered mounts, and the function that links files between mounts.
    void setMounts(HiddenMounts hidden, MountLinker linker) {
        hidden_ = std::move(hidden);
        linker_ = std::move(linker);
    }

    /// Returns a path by which the calling process can open the file of an entry.
    [[nodiscard]] std::string pathTo(const RegFileEntry& entry) const;
    /// Returns a path by which the calling process can open `path` on a mount. `mount`: mount id in the images.
    [[nodiscard]] std::string pathTo(int mount, const std::string& path) const;

    /// Returns the hidden directory that contains a path on a mount. Returns null if the path itself leads to the file,
    /// because no mount covers it.
    [[nodiscard]] const HiddenDirectory* findHidden(int mount, std::string_view path) const {
        return files::findHidden(hidden_, mount, path);
    }

    /// Returns true if the entry has a remap, because no path led to the file at the dump.
    [[nodiscard]] bool has(FileId regular) const { return remaps_.contains(regular); }
    /// Returns the path of the temporary hard link of a file; null if it has no link. Valid after noteLinks().
    [[nodiscard]] const std::string* linkOf(FileId regular) const;

    /// Returns the descriptor of an entry with a remap, or -1 for other entries.
    [[nodiscard]] int find(FileId regular) const;

    /// Returns true if a process with files in /proc had ended at the dump. A placeholder process must exist while criu
    /// opens these files.
    [[nodiscard]] bool hadEnded(TreePid pid) const { return deadProcesses_.contains(pid); }
    [[nodiscard]] const std::set<TreePid>& deadProcesses() const noexcept { return deadProcesses_; }

    /// Returns the descriptor of a ghost file, or -1 if the inode isn't a ghost file. `device`, `inode`: numbers at the
    /// dump; `device` has the form of images (minor number in the low 20 bits).
    [[nodiscard]] int findGhost(std::uint32_t device, std::uint64_t inode) const;

    /// Removes the temporary hard links of the dump, in the tree's mount namespace. Call it after a successful restore.
    /// Removes a link only if it still leads to the file that create() has opened by it.
    void removeLinks(Log& log) const noexcept;
    /// Adds the temporary hard links to the journal, so that `criu rescue` removes them if criu is killed after the
    /// commit.
    void recordLinks(Journal& journal) const;

private:
    struct Remap {
        std::uint32_t id = 0;
        RemapType type{};
    };
    std::map<FileId, Remap> remaps_;
    std::set<TreePid> deadProcesses_;
    std::map<FileId, UniqueFd> fds_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, FileId> ghosts_;
    /// Stores the inode to which a temporary hard link leads.
    void noteLinked(FileId link, int file);

    std::map<FileId, std::string> links_;
    /// Inodes to which links_ lead, in the order of links_. The memory is shared between processes, because create()
    /// may run in a child process, and removeLinks() runs in the coordinator.
    Mapping linked_;
    HiddenMounts hidden_;
    MountLinker linker_;  ///< empty if the tree is in criu's mount namespace

    [[nodiscard]] LinkAcross across(const RegFileEntry& from, const std::string& suffix, const RegFileEntry& to) const;
};

/// Creates a placeholder process if the path is in the /proc directory of a process that had ended at the dump. Returns
/// null for other paths. The placeholder process must exist while the caller opens the file.
std::unique_ptr<kernel::PlaceholderProcess> createPlaceholderOwner(const RegFileEntry& entry, const PathRemaps& remaps);

/// Opens the file of an entry. `flags`: flags of open(2).
UniqueFd openRegular(const RegFileEntry& entry, int flags, const PathRemaps& remaps, const PathOpening& opening);

/// Create the dump half and the restore half of the fd kind for paths. This kind must be last in the list, because it
/// claims every file with a path.
std::unique_ptr<FileKindDump> makeRegularDump(PathDump& paths);
std::unique_ptr<FileKindRestore> makeRegularRestore(const PathRemaps& remaps);

}  // namespace criu::files
