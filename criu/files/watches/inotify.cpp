// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

#include <algorithm>

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
#include "images/fdinfo.hpp"
#include "images/fsnotify.hpp"

namespace criu::files {
namespace {

constexpr unsigned long kSetNextWatch = _IOW('I', 0, std::int32_t);  // INOTIFY_IOC_SETNEXTWD, Linux 4.16
/// Bits of a mask that inotify_add_watch(2) accepts. Other bits must be cleared, because fdinfo of old kernels also
/// shows them.
constexpr std::uint32_t kMask = IN_ALL_EVENTS | IN_EXCL_UNLINK | IN_ONESHOT;

class RestoredInotify final : public RestoredFile {
public:
    RestoredInotify(const InotifyFileEntry& entry, const PathRemaps& remaps) : entry_(entry), remaps_(remaps) {}

    [[nodiscard]] std::string describe() const override { return "inotify"; }

    void open(FileOpener& opener) override {
        const int flags = static_cast<int>(entry_.flags);
        UniqueFd fd(::inotify_init1(IN_CLOEXEC));
        if (!fd)
            failAtLimit(errno, EMFILE, "create an inotify file", "fs.inotify.max_user_instances");
        sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of an inotify file", flags);
        opener.provide(FileId{entry_.id}, std::move(fd));
    }

    /// Adds the watches after all processes have opened their files, because opening a watched file would cause an
    /// event.
    void complete(PlacedFiles& files) override {
        const int self = files.find(FileId{entry_.id});
        const auto watches = list(entry_.wd, entry_.n_wd);
        std::vector<const InotifyWdEntry*> sorted(watches.begin(), watches.end());
        std::sort(sorted.begin(), sorted.end(), [](const auto* one, const auto* other) { return one->wd < other->wd; });
        WatchedOpener opener(remaps_, files.usersOf(FileId{entry_.id}), files.usernsdForPaths());
        for (const InotifyWdEntry* const watch : sorted) {
            const ErrorContext context([&] { return fmt::format("watch {}", watch->wd); });
            addWatch(self, *watch, opener);
        }
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    static void addWatch(int self, const InotifyWdEntry& watch, WatchedOpener& opener) {
        const WatchedFile target = opener.open(watch.s_dev, watch.i_ino, *watch.f_handle);
        const auto rights = target.takeRights();
        const std::string path = selfPath(target.fd);
        const auto wanted = static_cast<int>(watch.wd);
        // The kernel numbers watches in ascending order. INOTIFY_IOC_SETNEXTWD sets the next number (Linux 4.16,
        // CONFIG_CHECKPOINT_RESTORE). If it fails, criu adds and removes temporary watches until the kernel reaches the
        // number.
        const bool isSet = ::ioctl(self, kSetNextWatch, wanted) == 0;
        for (;;) {
            const int got = ::inotify_add_watch(self, path.c_str(), watch.mask & kMask);
            if (const int code = errno; got < 0)
                failAtLimit(code, ENOSPC, fmt::format("watch inode {} for {:#x}", watch.i_ino, watch.mask),
                            "fs.inotify.max_user_watches");
            if (got == wanted)
                return;
            if (isSet || got > wanted)
                fail("the kernel numbers the watch {}", got);
            sys(::inotify_rm_watch(self, got), "remove watch {} again", got);
        }
    }

    const InotifyFileEntry& entry_;
    const PathRemaps& remaps_;
};

class InotifyKindDump final : public FileKindDump {
public:
    explicit InotifyKindDump(const PathDump& paths) : watched_(paths) {}

    [[nodiscard]] bool claims(const OpenFd& file) const override { return file.isAnonymous("inotify"); }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        auto& out = *dump.arena().make<InotifyFileEntry>();
        entry.ify = &out;
        out.id = entry.id;
        out.flags = file.statusFlags();
        out.fown = dump.owner(file);
        pollfd pending{file.copy.get(), POLLIN, 0};
        if (sys(::poll(&pending, 1, 0), "poll {}", file.describe()) > 0)
            dump.log().loss(Loss::Events, "{} has events that weren't read: they will be lost", file.describe());
        dumped_.push_back({&out, kernel::parseInotify(file.info.text), file.describe()});
    }

    /// Fills the watches. Called after all files were dumped, so that deleted files are known.
    void finish(FileDump& dump) override {
        for (const Dumped& inotify : dumped_) {
            const ErrorContext context([&] { return inotify.name; });
            fillWatches(inotify, dump);
        }
    }

private:
    struct Dumped {
        InotifyFileEntry* entry;
        std::vector<kernel::InotifyWatch> watches;
        std::string name;
    };

    void fillWatches(const Dumped& inotify, FileDump& dump) {
        InotifyFileEntry& out = *inotify.entry;
        out.n_wd = inotify.watches.size();
        out.wd = dump.arena().messages<InotifyWdEntry>(out.n_wd);
        for (std::size_t i = 0; i < out.n_wd; ++i) {
            const kernel::InotifyWatch& from = inotify.watches[i];
            InotifyWdEntry& to = *out.wd[i];
            to.wd = static_cast<std::uint32_t>(from.wd);
            to.i_ino = from.inode;
            to.s_dev = from.device;
            to.mask = from.mask;
            to.ignored_mask = from.ignoredMask;
            to.f_handle = watched_.describe(from.device, from.inode, from.handle, dump);
        }
    }

    WatchedInodes watched_;
    std::vector<Dumped> dumped_;
};

class InotifyKindRestore final : public FileKindRestore {
public:
    explicit InotifyKindRestore(const PathRemaps& remaps) : remaps_(remaps) {}

    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.ify == nullptr)
            fail("file {} is an inotify file without data", entry.id);
        return std::make_shared<RestoredInotify>(*entry.ify, remaps_);
    }

private:
    const PathRemaps& remaps_;
};

}  // namespace

std::unique_ptr<FileKindDump> makeInotifyDump(const PathDump& paths) {
    return std::make_unique<InotifyKindDump>(paths);
}

std::unique_ptr<FileKindRestore> makeInotifyRestore(const PathRemaps& remaps) {
    return std::make_unique<InotifyKindRestore>(remaps);
}

}  // namespace criu::files
