// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <poll.h>
#include <sys/fanotify.h>
#include <sys/sysmacros.h>

#include "criu/base/loss.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/files/user_limit.hpp"
#include "criu/files/watches/fsnotify.hpp"
#include "criu/files/watches/watched_inode.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/device_number.hpp"
#include "images/fdinfo.hpp"
#include "images/fsnotify.hpp"

namespace criu::files {
namespace {

// Flags that libc's header lacks. <linux/fanotify.h> and libc's header can't both be included.
constexpr unsigned kMarkEvictable = 0x200;  // FAN_MARK_EVICTABLE, Linux 5.19
constexpr unsigned kMarkIgnore = 0x400;     // FAN_MARK_IGNORE, Linux 6.0

/// Flags that apply to both masks of a mark.
constexpr unsigned kWholeMark = kMarkEvictable;

class RestoredFanotify final : public RestoredFile {
public:
    RestoredFanotify(const FanotifyFileEntry& entry, const PathRemaps& remaps) : entry_(entry), remaps_(remaps) {}

    [[nodiscard]] std::string describe() const override { return "fanotify"; }

    void open(FileOpener& opener) override {
        const int flags = static_cast<int>(entry_.flags);
        // Uses the flags that the program passed to fanotify_init(2). fdinfo shows FAN_NONBLOCK and FAN_CLOEXEC of that
        // call, even if the file's flags have changed since.
        UniqueFd fd(::fanotify_init(entry_.faflags, entry_.evflags));
        if (const int code = errno; !fd)
            failAtLimit(
                code, EMFILE,
                fmt::format("create a fanotify file with flags {:#x} and {:#x}", entry_.faflags, entry_.evflags),
                "fs.fanotify.max_user_groups");
        sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of a fanotify file", flags);
        opener.provide(FileId{entry_.id}, std::move(fd));
    }

    /// Sets the marks after all processes have opened their files, because opening a marked file would cause an event.
    void complete(PlacedFiles& files) override {
        const int self = files.find(FileId{entry_.id});
        // The image has the newest mark first, because the kernel lists marks in this order.
        const auto marks = list(entry_.mark, entry_.n_mark);
        WatchedOpener opener(remaps_, files.usersOf(FileId{entry_.id}), files.usernsd());
        for (auto at = marks.rbegin(); at != marks.rend(); ++at) {
            const FanotifyMarkEntry* const mark = *at;
            if (mark->type == MARK_TYPE__MOUNT)
                markMount(self, *mark, opener);
            else
                markInode(self, *mark, opener);
        }
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    static void markInode(int self, const FanotifyMarkEntry& mark, WatchedOpener& opener) {
        if (mark.ie == nullptr)
            fail("a mark on an inode lacks the inode");
        const WatchedFile target = opener.open(mark.s_dev, mark.ie->i_ino, *mark.ie->f_handle);
        const ErrorContext context([&] { return fmt::format("mark on inode {}", mark.ie->i_ino); });
        set(self, mark, FAN_MARK_INODE, target);
    }

    static void markMount(int self, const FanotifyMarkEntry& mark, WatchedOpener& opener) {
        if (mark.me == nullptr || mark.me->path == nullptr)
            fail("a mark on a mount lacks the path");
        const ErrorContext context([&] { return fmt::format("mark on mount {}", mark.me->path); });
        const WatchedFile target = opener.openPath(mark.me->path);
        set(self, mark, FAN_MARK_MOUNT, target);
    }

    /// Sets the mask of reported events, and then the mask of ignored events.
    static void set(int self, const FanotifyMarkEntry& mark, unsigned type, const WatchedFile& target) {
        const auto rights = target.takeRights();
        const std::string path = selfPath(target.fd);
        const unsigned add = FAN_MARK_ADD | type | (mark.mflags & kWholeMark);
        if (mark.mask != 0)
            sys(::fanotify_mark(self, add, mark.mask, AT_FDCWD, path.c_str()), "set mask {:#x}", mark.mask);
        if (mark.ignored_mask == 0)
            return;
        const unsigned survive = mark.mflags & FAN_MARK_IGNORED_SURV_MODIFY;
        const unsigned form = (mark.mflags & kMarkIgnore) != 0 ? kMarkIgnore : unsigned{FAN_MARK_IGNORED_MASK};
        sys(::fanotify_mark(self, add | survive | form, mark.ignored_mask, AT_FDCWD, path.c_str()),
            "set mask {:#x} of ignored events", mark.ignored_mask);
    }

    const FanotifyFileEntry& entry_;
    const PathRemaps& remaps_;
};

class FanotifyKindDump final : public FileKindDump {
public:
    explicit FanotifyKindDump(const PathDump& paths) : watched_(paths) {}

    [[nodiscard]] bool claims(const OpenFd& file) const override { return file.isAnonymous("[fanotify]"); }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        kernel::FanotifyInfo info = kernel::parseFanotify(file.info.text);
        for (const kernel::FanotifyMark& mark : info.marks)
            if (mark.kind == kernel::FanotifyMarkKind::Filesystem)
                fail("{} marks a whole file system (FAN_MARK_FILESYSTEM), for which images have no room",
                     file.describe());
        auto& out = *dump.arena().make<FanotifyFileEntry>();
        entry.ffy = &out;
        out.id = entry.id;
        out.flags = file.statusFlags();
        out.fown = dump.owner(file);
        out.faflags = info.flags;
        out.evflags = info.eventFlags;
        pollfd pending{file.copy.get(), POLLIN, 0};
        if (sys(::poll(&pending, 1, 0), "poll {}", file.describe()) > 0)
            dump.log().loss(Loss::Events, "{} has events that weren't read: they will be lost", file.describe());
        dumped_.push_back({&out, std::move(info.marks), file.describe()});
    }

    /// Fills the marks. Called after all files were dumped, so that deleted files are known.
    void finish(FileDump& dump) override {
        for (const Dumped& fanotify : dumped_) {
            const ErrorContext context([&] { return fanotify.name; });
            fillMarks(fanotify, dump);
        }
    }

private:
    struct Dumped {
        FanotifyFileEntry* entry;
        std::vector<kernel::FanotifyMark> marks;
        std::string name;
    };

    void fillMarks(const Dumped& fanotify, FileDump& dump) {
        FanotifyFileEntry& out = *fanotify.entry;
        out.n_mark = fanotify.marks.size();
        out.mark = dump.arena().messages<FanotifyMarkEntry>(out.n_mark);
        for (std::size_t i = 0; i < out.n_mark; ++i) {
            const kernel::FanotifyMark& from = fanotify.marks[i];
            FanotifyMarkEntry& to = *out.mark[i];
            to.mflags = from.flags;
            to.mask = from.mask;
            to.ignored_mask = from.ignoredMask;
            if (from.kind == kernel::FanotifyMarkKind::Mount)
                fillMount(from, to, dump);
            else
                fillInode(from, to, dump);
        }
    }

    void fillMount(const kernel::FanotifyMark& from, FanotifyMarkEntry& to, FileDump& dump) {
        const kernel::MountInfo* const mount = watched_.mounts(dump).find(from.mountId);
        if (mount == nullptr)
            fail("it marks mount {}, which can't be seen from here", from.mountId);
        to.type = MARK_TYPE__MOUNT;
        to.s_dev = kernel::kernelForm(makedev(mount->devMajor, mount->devMinor));
        to.me = dump.arena().make<FanotifyMountMarkEntry>();
        to.me->mnt_id = static_cast<std::uint32_t>(from.mountId);
        to.me->path = dump.arena().string(mount->mountPoint);
    }

    void fillInode(const kernel::FanotifyMark& from, FanotifyMarkEntry& to, FileDump& dump) {
        to.type = MARK_TYPE__INODE;
        to.s_dev = from.device;
        to.ie = dump.arena().make<FanotifyInodeMarkEntry>();
        to.ie->i_ino = from.inode;
        to.ie->f_handle = watched_.describe(from.device, from.inode, from.handle, dump);
    }

    WatchedInodes watched_;
    std::vector<Dumped> dumped_;
};

class FanotifyKindRestore final : public FileKindRestore {
public:
    explicit FanotifyKindRestore(const PathRemaps& remaps) : remaps_(remaps) {}

    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.ffy == nullptr)
            fail("file {} is a fanotify file without data", entry.id);
        return std::make_shared<RestoredFanotify>(*entry.ffy, remaps_);
    }

private:
    const PathRemaps& remaps_;
};

}  // namespace

std::unique_ptr<FileKindDump> makeFanotifyDump(const PathDump& paths) {
    return std::make_unique<FanotifyKindDump>(paths);
}

std::unique_ptr<FileKindRestore> makeFanotifyRestore(const PathRemaps& remaps) {
    return std::make_unique<FanotifyKindRestore>(remaps);
}

}  // namespace criu::files
