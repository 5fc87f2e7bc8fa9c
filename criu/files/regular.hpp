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

/// Files with a path: regular files, directories, devices that carry no state, and paths nobody has as a descriptor
/// (programs, mapped files, working directories).
namespace criu::files {

/// What names of temporary hard links begin with; digits and dots follow. CRIU 4.2 calls them so, too.
inline constexpr std::string_view kLinkRemapPrefix = "link_remap.";

/// Dump half: turns a file into a path that leads to it again at restore. Deleted files become ghosts; files whose name
/// is gone while others remain get a temporary hard link (--link-remap).
class PathDump {
public:
    explicit PathDump(std::uint64_t ghostLimit) : ghosts_(ghostLimit) {}

    /// Fills a regular-file entry (but its owner). Also adds what remaps it needs.
    void fill(const OpenFd& file, std::uint32_t flags, bool wantBuildId, RegFileEntry& out, FileDump& dump);

    /// Writes remap-fpath.img if there is anything in it.
    void finish(const ImageDir& images);

    /// Whether the inode is among the deleted files that go into the images.
    [[nodiscard]] bool hasGhost(dev_t device, ino_t inode) const { return ghosts_.has(device, inode); }

    /// Removes the temporary hard links: the dump failed, or the processes go on and still have their files open.
    void removeLinks(Log& log) noexcept;
    /// They stay for the restore: the processes are gone.
    void leaveLinks() noexcept;

private:
    /// Finds a path that leads to the file, in place; adds a remap if none does.
    void findPath(const OpenFd& file, std::string& path, RegFileEntry& out, FileDump& dump);
    /// For paths under /proc: processes may have ended while files of theirs are still open.
    void remapDeadProcess(const OpenFd& file, std::string& path, const RegFileEntry& out, FileDump& dump);
    /// Whether the mount of a file is one of the mount namespace that the tree is in.
    [[nodiscard]] bool isMounted(const OpenFd& file, const TreeRoot& tree);
    void remap(const OpenFd& file, const std::string& path, RegFileEntry& out, FileDump& dump);
    FileId linkRemap(const OpenFd& file, const std::string& path, FileDump& dump);

    GhostFileDump ghosts_;
    std::vector<RemapFilePathEntry> remaps_;
    std::set<TreePid> deadProcesses_;              ///< one remap stands for all files of a process
    std::optional<kernel::MountTable> ownMounts_;  ///< mounts of criu, once they are needed
    std::map<std::pair<dev_t, ino_t>, FileId> linked_;
    std::vector<kernel::CreatedName> links_;
};

/// Restore half of remaps: done by the master before any process exists. Deleted files come to life as O_PATH
/// descriptors that all processes inherit; their names are gone again at once.
class PathRemaps {
public:
    /// Reads remap-fpath.img.
    void load(const ImageDir& images);

    /// Notes what removeLinks() is to remove. Throws Error when images name something else than links of a dump.
    void noteLinks(FileRestore& restore);

    /// Makes the files, in the process that all others descend from or before there is any. `ids`: how that calls
    /// their owners; their descriptors are inherited through `store`.
    void create(FileRestore& restore, const model::IdMap& ids, kernel::FdStore& store);

    /// How many descriptors create() makes.
    [[nodiscard]] std::size_t count() const noexcept { return remaps_.size(); }

    /// Mounts of files that no path leads to, and how files get from mount to mount.
    void setMounts(HiddenMounts hidden, MountLinker linker) {
        hidden_ = std::move(hidden);
        linker_ = std::move(linker);
    }

    /// A path that leads to an entry's file.
    [[nodiscard]] std::string pathTo(const RegFileEntry& entry) const;
    /// The same for a path on a mount, by its id in images.
    [[nodiscard]] std::string pathTo(int mount, const std::string& path) const;

    /// The directory that a path on a mount is in or below, if no path leads there; else null.
    [[nodiscard]] const HiddenDirectory* findHidden(int mount, std::string_view path) const {
        return files::findHidden(hidden_, mount, path);
    }

    /// Whether the file had no path of its own any more, so that images have it, or the dump gave it another name.
    [[nodiscard]] bool has(FileId regular) const { return remaps_.contains(regular); }
    /// That other name; null if it has none. Known once links are noted.
    [[nodiscard]] const std::string* linkOf(FileId regular) const;

    /// The descriptor of a remapped entry; -1 for others.
    [[nodiscard]] int find(FileId regular) const;

    /// Whether a process that files in /proc belong to had ended when they were dumped. It has to exist while they are
    /// opened.
    [[nodiscard]] bool hadEnded(TreePid pid) const { return deadProcesses_.contains(pid); }
    [[nodiscard]] const std::set<TreePid>& deadProcesses() const noexcept { return deadProcesses_; }

    /// The descriptor of a deleted file by the inode it had, device in the images' form (minor in the low 20 bits); -1
    /// if it isn't among them.
    [[nodiscard]] int findGhost(std::uint32_t device, std::uint64_t inode) const;

    /// After success, where paths are those of the tree: takes away the temporary hard links that the dump left for
    /// this restore. Each is removed only while it leads to the file that create() restored from it.
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
    /// Notes which inode a link of the dump leads to.
    void noteLinked(FileId link, int file);

    std::map<FileId, std::string> links_;
    /// The inodes that links_ lead to, in its order: found by create(), which may run in a child, and used by
    /// removeLinks(), so it is shared memory.
    Mapping linked_;
    HiddenMounts hidden_;
    MountLinker linker_;  ///< none: the tree is in criu's mount namespace

    [[nodiscard]] LinkAcross across(const RegFileEntry& from, const std::string& suffix, const RegFileEntry& to) const;
};

/// The process that a path in /proc belongs to, for a moment, if it had ended when the path was dumped; else null. To
/// be held while the file is opened and entered.
std::unique_ptr<kernel::PlaceholderProcess> createPlaceholderOwner(const RegFileEntry& entry, const PathRemaps& remaps);

/// Opens the file of an entry with `flags`, position 0.
UniqueFd openRegular(const RegFileEntry& entry, int flags, const PathRemaps& remaps, const PathOpening& opening);

/// The kind itself. It claims whatever has a path, so it must be asked last.
std::unique_ptr<FileKindDump> makeRegularDump(PathDump& paths);
std::unique_ptr<FileKindRestore> makeRegularRestore(const PathRemaps& remaps);

}  // namespace criu::files
