// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/regular.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/refusals.hpp"
#include "criu/files/build_id.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/proc_path.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/placeholder_process.hpp"
#include "criu/kernel/usernsd.hpp"
#include "criu/model/options.hpp"
#include "images/fdinfo.hpp"

namespace criu::files {
namespace {

/// Flags of open(2) that had an effect only when the program opened the file; a restore must not repeat this effect.
constexpr int kOnlyOnce = O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY | O_CLOEXEC;

/// Returns an absolute path. CRIU before 2.0 wrote paths without the leading slash.
std::string pathOf(const RegFileEntry& entry) {
    return entry.name[0] == '/' ? std::string(entry.name) : std::string("/") + entry.name;
}

/// Returns true if the dump has created this name for the file, because a restore must remove only such names. They
/// have the form link_remap.ID, or link_remap.ID.N if the first name was occupied.
bool isLinkOfDump(std::string_view path, std::uint32_t id) {
    path.remove_prefix(path.rfind('/') + 1);
    const std::string name = fmt::format("{}{}", kLinkRemapPrefix, id);
    if (!path.starts_with(name))
        return false;
    path.remove_prefix(name.size());
    return path.empty() || (path.size() > 1 && path.front() == '.' &&
                            path.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

/// Opens a file by the temporary hard link that the dump created. Returns an O_PATH descriptor.
UniqueFd openLink(const RegFileEntry& link, const std::string& path) {
    const kernel::CreatedName name(path);
    UniqueFd file(sys(::openat(name.directory(), name.name(), O_PATH | O_NOFOLLOW | O_CLOEXEC), "open {}", path));
    struct stat status {};
    sys(::fstat(file.get(), &status), "stat {}", path);
    if (S_ISDIR(status.st_mode) || (link.has_mode != 0 && (status.st_mode & S_IFMT) != (link.mode & S_IFMT)))
        fail("{} is another kind of file than when it was dumped", path);
    return file;
}

/// Creates a placeholder process with this pid. Another restored process may have such a process for a file of the same
/// pid at this moment. So repeats the attempt for two seconds.
std::unique_ptr<kernel::PlaceholderProcess> createOwner(TreePid pid) {
    constexpr int kTries = 2000;
    for (int tries = 1;; ++tries) {
        try {
            return std::make_unique<kernel::PlaceholderProcess>(pid.value);
        } catch (const Error& error) {
            if (error.code() != EEXIST || tries == kTries)
                throw;
        }
        ::usleep(1000);
    }
}

class RestoredRegular final : public RestoredFile {
public:
    RestoredRegular(const RegFileEntry& entry, const PathRemaps& remaps) : entry_(entry), remaps_(remaps) {}

    [[nodiscard]] std::string describe() const override { return entry_.name; }

    /// Returns true for a file in the directory of a process in /proc, because the file exists only as long as its
    /// process.
    [[nodiscard]] bool late() const override { return processOfPath(pathOf(entry_)).has_value(); }

    void open(FileOpener& opener) override {
        const FileId id{entry_.id};
        if (entry_.has_ext != 0 && entry_.ext != 0) {
            useExternal(opener);
            return;
        }
        if (const int given = opener.inherited(std::string_view(entry_.name).substr(entry_.name[0] == '/' ? 1 : 0));
            given >= 0) {
            opener.provide(id, copyOf(given));
            return;
        }
        const int flags = static_cast<int>(entry_.flags);
        const auto owner = createPlaceholderOwner(entry_, remaps_);
        UniqueFd fd = opener.openPath(id, flags);
        if ((flags & O_PATH) == 0 && entry_.pos != 0)
            sys(::lseek(fd.get(), static_cast<off_t>(entry_.pos), SEEK_SET), "set position {} in {}", entry_.pos,
                entry_.name);
        opener.provide(id, std::move(fd));
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override {
        return (entry_.flags & O_PATH) != 0 ? nullptr : entry_.fown;
    }

private:
    static UniqueFd copyOf(int given) {
        return UniqueFd(sys(::fcntl(given, F_DUPFD_CLOEXEC, 0), "copy inherited fd {}", given));
    }

    void useExternal(FileOpener& opener) {
        const int given = opener.inherited(entry_.name);
        if (given < 0) {
            Error error(0, fmt::format("external file {} isn't provided", entry_.name));
            error.addHint(fmt::format("restore with --inherit-fd fd[N]:{}", entry_.name));
            throw error;
        }
        opener.provide(FileId{entry_.id}, copyOf(given));
    }

    const RegFileEntry& entry_;
    const PathRemaps& remaps_;
};

/// Dump half of the fd kind for paths. criu queries it after all other kinds, because it claims every file with a path.
class RegularKindDump final : public FileKindDump {
public:
    explicit RegularKindDump(PathDump& paths) : paths_(paths) {}

    [[nodiscard]] bool claims(const OpenFd& file) const override {
        if (!file.link.starts_with('/'))
            return false;
        // Also claims an O_PATH descriptor of a socket or fifo, because it has no state besides its path.
        return S_ISREG(file.stat.st_mode) || S_ISDIR(file.stat.st_mode) || S_ISLNK(file.stat.st_mode) ||
               (file.info.flags & O_PATH) != 0 || isStatelessDevice(file.stat);
    }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        auto& out = *dump.arena().make<RegFileEntry>();
        entry.reg = &out;
        out.id = entry.id;
        out.fown = dump.owner(file);
        out.pos = static_cast<std::uint64_t>(file.info.pos);
        out.flags = file.statusFlags();
        if (isExternal(file, dump.options())) {
            out.has_ext = out.ext = 1;
            out.name = dump.arena().string(externalName(file));
            return;
        }
        paths_.fill(file, out.flags, false, out, dump);
        warnOfLosses(file, out, dump.log());
        if (processOfPath(pathOf(out)))
            ofProcesses_.emplace_back(FileId{entry.id}, file.describe());
        if ((out.flags & O_NOFOLLOW) != 0 || (out.flags & O_TMPFILE) == O_TMPFILE)
            flagsLost_.push_back(file.describe());
    }

    /// Reports files whose flags are lost, once for all files, because some programs open many files with O_NOFOLLOW.
    /// Warns only if the user asks for losses: both flags act only in open(2), and every O_TMPFILE file has the loss.
    void finish(FileDump& dump) override {
        for (const auto& [id, shown] : ofProcesses_)
            dump.refusals().attempt([&, id = id, &shown = shown] { dump.requireFetchable(id, shown); });
        if (flagsLost_.empty())
            return;
        const std::string more = flagsLost_.size() == 1 ? "" : fmt::format(" and {} more files", flagsLost_.size() - 1);
        const std::string text = fmt::format("F_GETFL no longer shows O_NOFOLLOW or O_TMPFILE of {}{} after a restore",
                                             flagsLost_.front(), more);
        if (dump.options().noLoss || dump.options().dryRun)
            dump.log().loss(Loss::OpenFlags, "{}", text);
        else
            dump.log().info("{}", text);
    }

private:
    /// Returns true for memory devices without state (null, zero, full, random, urandom and kmsg, major number 1), and
    /// for the control device of autofs.
    static bool isStatelessDevice(const struct stat& stat) {
        constexpr unsigned kMemoryMajor = 1;
        constexpr unsigned kMiscellaneousMajor = 10;
        constexpr unsigned kAutofsMinor = 235;
        return S_ISCHR(stat.st_mode) &&
               (major(stat.st_rdev) == kMemoryMajor ||
                (major(stat.st_rdev) == kMiscellaneousMajor && minor(stat.st_rdev) == kAutofsMinor));
    }

    static void warnOfLosses(const OpenFd& file, const RegFileEntry& out, Log& log) {
        const dev_t messages = makedev(1, 11);  // /dev/kmsg
        if (S_ISCHR(file.stat.st_mode) && file.stat.st_rdev == messages && (out.flags & O_ACCMODE) != O_WRONLY &&
            (out.flags & O_PATH) == 0)
            log.loss(Loss::KernelMessages,
                     "{} will be read from the kernel's first message on: how far it was read can't be asked",
                     file.describe());
        // The signal owner of a directory hints at dnotify, because F_NOTIFY makes its caller the signal owner, and a
        // directory uses it for nothing else.
        if (S_ISDIR(file.stat.st_mode) && out.fown->pid != 0)
            log.loss(Loss::DirectoryNotify,
                     "If {} is watched by F_NOTIFY (dnotify), which the kernel doesn't tell, that will be lost",
                     file.describe());
    }

    /// Returns the name by which --external and --inherit-fd refer to a file. It consists of mount id and inode number
    /// in hexadecimal.
    static std::string externalName(const OpenFd& file) {
        return fmt::format("file[{:x}:{:x}]", file.info.mountId.value_or(0), file.stat.st_ino);
    }

    static bool isExternal(const OpenFd& file, const model::Options& options) {
        return std::any_of(options.externals.begin(), options.externals.end(), [&](const model::External& external) {
            return external.type == model::ExternalType::File &&
                   fmt::format("file[{}]", external.id) == externalName(file);
        });
    }

    PathDump& paths_;
    std::vector<std::pair<FileId, std::string>> ofProcesses_;  ///< files in a process' directory of /proc
    std::vector<std::string> flagsLost_;  ///< files whose flags criu can't set, because it reopens them by /proc
};

class RegularKindRestore final : public FileKindRestore {
public:
    explicit RegularKindRestore(const PathRemaps& remaps) : remaps_(remaps) {}

    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.reg == nullptr || entry.reg->name == nullptr)
            fail("file {} is a regular file without data", entry.id);
        return std::make_shared<RestoredRegular>(*entry.reg, remaps_);
    }

private:
    const PathRemaps& remaps_;
};

}  // namespace

void PathRemaps::load(const ImageDir& images) {
    auto reader = images.openRead(ImageKind::RemapFpath);
    if (!reader)
        return;
    while (const auto entry = reader->next<RemapFilePathEntry>()) {
        const RemapFilePathEntry& remap = **entry;
        Remap out;
        out.id = remap.remap_id;
        if (const auto ghost = ghostOf(remap)) {
            out.id = *ghost;
            out.type = REMAP_TYPE__GHOST;
        } else if (remap.has_remap_type != 0) {
            out.type = remap.remap_type;
        }
        // Needs no work here: a restore creates the placeholder process when it opens the files.
        if (out.type == REMAP_TYPE__PROCFS)
            deadProcesses_.insert(TreePid(static_cast<pid_t>(out.id)));
        else
            remaps_[FileId{remap.orig_id}] = out;
    }
}

void PathRemaps::noteLinks(FileRestore& restore) {
    for (const auto& [id, remap] : remaps_) {
        if (remap.type != REMAP_TYPE__LINKED)
            continue;
        const FileEntry& link = restore.entry(FileId{remap.id});
        if (link.reg == nullptr)
            fail("{}: the link of file {} (file {}) has no path", imageName(ImageKind::RemapFpath), id, remap.id);
        std::string path = pathOf(*link.reg);
        if (!isLinkOfDump(path, remap.id))
            fail("{}: file {} (file {}) is no temporary link of a dump", imageName(ImageKind::RemapFpath), path,
                 remap.id);
        links_.emplace(FileId{remap.id}, std::move(path));
    }
    if (!links_.empty())
        linked_ = Mapping::anonymous(links_.size() * sizeof(Inode), MAP_SHARED);
}

void PathRemaps::noteLinked(FileId link, int file) {
    struct stat status {};
    sys(::fstat(file, &status), "stat {}", links_.at(link));
    linked_.as<Inode>()[std::distance(links_.begin(), links_.find(link))] = Inode::of(status);
}

void PathRemaps::create(FileRestore& restore, const model::IdMap& ids, kernel::FdStore& store) {
    struct Ghost {
        Ghost(std::uint32_t id, const std::string& path, const ImageDir& images, const model::IdMap& owners,
              const RegFileEntry& entry)
            : file(id, path, images, owners), made(entry) {}
        GhostFile file;
        const RegFileEntry& made;  ///< entry of the file at whose path the ghost was created
    };
    std::map<std::uint32_t, Ghost> ghosts;
    for (const auto& [id, remap] : remaps_) {
        const FileEntry& entry = restore.entry(id);
        if (entry.reg == nullptr)
            fail("file {} has a remap but no path", id);
        const std::string path = pathTo(*entry.reg);
        const ErrorContext context([&] { return fmt::format("deleted file {}", path); });
        UniqueFd fd;
        if (remap.type == REMAP_TYPE__GHOST) {
            auto ghost = ghosts.find(remap.id);
            if (ghost == ghosts.end())
                ghost = ghosts
                            .emplace(std::piecewise_construct, std::tuple(remap.id),
                                     std::tuple(remap.id, std::cref(path), std::cref(restore.images()), std::cref(ids),
                                                std::cref(*entry.reg)))
                            .first;
            GhostFile& file = ghost->second.file;
            fd = file.openAs(path, across(ghost->second.made, file.suffix(), *entry.reg));
            ghosts_.emplace(file.oldInode(), id);
        } else if (remap.type == REMAP_TYPE__LINKED) {
            const FileEntry& link = restore.entry(FileId{remap.id});
            UniqueFd file = openLink(*link.reg, pathTo(*link.reg));
            noteLinked(FileId{remap.id}, file.get());
            fd = openUnderName(std::move(file), path, across(*link.reg, "", *entry.reg));
        } else {
            fail("it has a remap of unknown type {}", static_cast<int>(remap.type));
        }
        fds_[id] = store.inherit(kernel::FdKey::DeletedFile, std::move(fd));
    }
}

/// Returns a function that links the file at `from` plus `suffix` to the path of `to`. Returns an empty function if
/// link(2) works without it, because both are on one mount.
LinkAcross PathRemaps::across(const RegFileEntry& from, const std::string& suffix, const RegFileEntry& to) const {
    if (!linker_ || from.has_mnt_id == 0 || to.has_mnt_id == 0 || from.mnt_id == to.mnt_id)
        return {};
    return [this, &from, &suffix, &to](std::string_view more) {
        return linker_(from.mnt_id, pathOf(from) + suffix, to.mnt_id, pathOf(to) + std::string(more));
    };
}

std::string PathRemaps::pathTo(const RegFileEntry& entry) const {
    const std::string path = pathOf(entry);
    return entry.has_mnt_id != 0 ? pathTo(entry.mnt_id, path) : path;
}

std::string PathRemaps::pathTo(int mount, const std::string& path) const {
    std::string hidden = pathOnHidden(hidden_, mount, path);
    return hidden.empty() ? path : hidden;
}

const std::string* PathRemaps::linkOf(FileId regular) const {
    const auto remap = remaps_.find(regular);
    if (remap == remaps_.end() || remap->second.type != REMAP_TYPE__LINKED)
        return nullptr;
    const auto link = links_.find(FileId{remap->second.id});
    return link == links_.end() ? nullptr : &link->second;
}

int PathRemaps::find(FileId regular) const {
    const auto found = fds_.find(regular);
    return found == fds_.end() ? -1 : found->second.get();
}

int PathRemaps::findGhost(std::uint32_t device, std::uint64_t inode) const {
    const auto found = ghosts_.find({device, inode});
    return found == ghosts_.end() ? -1 : find(found->second);
}

void PathRemaps::recordLinks(Journal& journal) const {
    const auto* inode = linked_.as<Inode>();
    for (const auto& [id, link] : links_) {
        journal.record({"link", fmt::format("{}", inode->device), fmt::format("{}", inode->number),
                        parentDirectory(link), link.substr(link.rfind('/') + 1)});
        ++inode;
    }
}

void PathRemaps::removeLinks(Log& log) const noexcept {
    const auto* inode = linked_.as<Inode>();
    for (const auto& [id, link] : links_) {
        int code = 0;
        try {
            const kernel::CreatedName name(link);
            code = removeIfSame(name.directory(), name.name(), *inode);
        } catch (const Error& error) {
            code = error.code();
        }
        ++inode;
        if (code != 0 && code != ENOENT)
            log.warn("the temporary link {} is left: {}", link, std::strerror(code));
    }
}

std::unique_ptr<kernel::PlaceholderProcess> createPlaceholderOwner(const RegFileEntry& entry,
                                                                   const PathRemaps& remaps) {
    const auto pid = processOfPath(pathOf(entry));
    return pid && remaps.hadEnded(*pid) ? createOwner(*pid) : nullptr;
}

UniqueFd openRegular(const RegFileEntry& entry, int flags, const PathRemaps& remaps, const PathOpening& opening) {
    const std::string path = remaps.pathTo(entry);
    int how = (flags & ~kOnlyOnce) | O_CLOEXEC | O_NOCTTY;
    // Bits of O_TMPFILE without O_DIRECTORY, because a file that was created without a name isn't a directory.
    constexpr int kTemporary = O_TMPFILE & ~O_DIRECTORY;
    if ((flags & kTemporary) != 0)
        how &= ~(kTemporary | O_DIRECTORY);
    const int remapped = remaps.find(FileId{entry.id});
    if (remapped < 0)
        return openPathOf(entry, path, how, opening);
    // Needs a different way for O_PATH: with O_PATH | O_NOFOLLOW, open(2) would open the link in /proc itself.
    if ((flags & O_PATH) != 0)
        return UniqueFd(sys(::fcntl(remapped, F_DUPFD_CLOEXEC, 0), "copy {}", path));
    const std::string self = fmt::format("/proc/self/fd/{}", remapped);
    UniqueFd again(::open(self.c_str(), how & ~O_NOFOLLOW));
    if (!again && (errno == EACCES || errno == EPERM) && opening.usernsd != nullptr)
        again = opening.usernsd->openAgain(remapped, how & ~O_NOFOLLOW);
    if (!again)
        failErrno("open deleted file {}", path);
    return again;
}

std::unique_ptr<FileKindDump> makeRegularDump(PathDump& paths) {
    return std::make_unique<RegularKindDump>(paths);
}

std::unique_ptr<FileKindRestore> makeRegularRestore(const PathRemaps& remaps) {
    return std::make_unique<RegularKindRestore>(remaps);
}

}  // namespace criu::files
