// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/anonymous_kinds.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/placeholder_process.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/fdinfo.hpp"
#include "images/pidfd.hpp"

namespace criu::files {
namespace {

constexpr std::uint32_t kThreadFlag = O_EXCL;     // PIDFD_THREAD, Linux 6.9
constexpr std::uint32_t kOpenFlags = O_NONBLOCK;  // PIDFD_NONBLOCK
constexpr std::int32_t kReaped = -1;

/// `pid` is a pid in the pid namespace of the calling process.
UniqueFd openPidFd(pid_t pid, const PidfdEntry& entry) {
    return UniqueFd(static_cast<int>(sys(::syscall(SYS_pidfd_open, pid, entry.flags & kOpenFlags),
                                         "open a pidfd of process {} with flags {:#o}", pid, entry.flags)));
}

/// One pidfd of a process of the tree.
class RestoredPidFd final : public RestoredFile {
public:
    explicit RestoredPidFd(const PidfdEntry& entry) : entry_(entry) {}

    [[nodiscard]] std::string describe() const override { return fmt::format("pidfd of {}", entry_.nspid); }
    [[nodiscard]] bool late() const override { return true; }
    void open(FileOpener& opener) override {
        opener.provide(FileId{entry_.id}, openPidFd(opener.numberOf(TreePid(entry_.nspid)), entry_));
    }
    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    const PidfdEntry& entry_;
};

/// All pidfds of one process that has ended. The restored pidfds must refer to one process, and no other pidfds may
/// refer to it, because a program can compare pidfds by kcmp(2).
class RestoredDeadPidFds final : public RestoredFile {
public:
    void add(const PidfdEntry& entry) { entries_.push_back(&entry); }

    [[nodiscard]] std::string describe() const override { return "pidfd of a process that has ended"; }

    /// Returns true, because the placeholder process needs a pid that is free: before all processes exist, it could
    /// take a pid of the tree.
    [[nodiscard]] bool late() const override { return true; }

    void open(FileOpener& opener) override {
        const kernel::PlaceholderProcess process;
        for (const PidfdEntry* const entry : entries_)
            opener.provide(FileId{entry->id}, opener.toServiceRange(openPidFd(process.pid(), *entry)));
    }

    [[nodiscard]] const FownEntry* owner(FileId id) const override {
        for (const PidfdEntry* const entry : entries_)
            if (entry->id == id.value)
                return entry->fown;
        return nullptr;
    }

private:
    std::vector<const PidfdEntry*> entries_;
};

class PidFdKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override { return file.isAnonymous("[pidfd]"); }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        const kernel::PidFdInfo info = kernel::parsePidFd(file.info.text);
        if ((file.info.flags & kThreadFlag) != 0)
            fail("{} refers to a thread (PIDFD_THREAD), which can't be restored: threads are created last",
                 file.describe());
        if (info.pid != kReaped && !dump.isDumped(HostPid(info.pid))) {
            Error error(
                0, fmt::format("{} refers to process {}, which isn't part of the tree", file.describe(), info.pid));
            error.addHint("close it before the dump; only processes that are dumped too exist at restore");
            throw error;
        }
        auto& out = *dump.arena().make<PidfdEntry>();
        entry.pidfd = &out;
        out.id = entry.id;
        out.ino = static_cast<std::uint32_t>(file.stat.st_ino);
        out.flags = file.statusFlags() & ~static_cast<std::uint32_t>(O_RDWR);
        out.nspid = info.pid == kReaped ? kReaped : dump.pids().inside(HostPid(info.pid)).value;
        out.fown = dump.owner(file);
        if (info.pid != kReaped)
            living_.push_back({FileId{entry.id}, TreePid(out.nspid), file.describe()});
    }

    void finish(FileDump& dump) override {
        for (const Living& pidfd : living_)
            dump.refusals().attempt([&] { requireVisible(pidfd, dump); });
    }

private:
    /// Pidfd of a living process.
    struct Living {
        FileId id;
        TreePid process;
        std::string shown;
    };

    /// At a restore, the first user opens the pidfd when all processes exist.
    static void requireVisible(const Living& pidfd, FileDump& dump) {
        const std::vector<HostPid> users = dump.users(pidfd.id);
        if (users.empty())
            return;
        if (!dump.pids().sees(users.front(), pidfd.process))
            fail(
                "{} refers to process {}, which isn't in the pid namespace of the process that has the descriptor; "
                "this can't be dumped yet",
                pidfd.shown, pidfd.process);
        dump.requireFetchable(pidfd.id, pidfd.shown);
    }

    std::vector<Living> living_;
};

class PidFdKindRestore final : public FileKindRestore {
public:
    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore& restore) override {
        if (entry.pidfd == nullptr)
            fail("file {} is a pidfd without data", entry.id);
        if (entry.pidfd->nspid != kReaped && !restore.hasProcess(TreePid(entry.pidfd->nspid)))
            fail("file {} is a pidfd of process {}, which the images don't have", entry.id, entry.pidfd->nspid);
        if (entry.pidfd->nspid != kReaped)
            return std::make_shared<RestoredPidFd>(*entry.pidfd);
        auto& dead = dead_[entry.pidfd->ino];
        if (!dead)
            dead = std::make_shared<RestoredDeadPidFds>();
        dead->add(*entry.pidfd);
        return dead;
    }

private:
    std::map<std::uint32_t, std::shared_ptr<RestoredDeadPidFds>> dead_;
};

}  // namespace

std::unique_ptr<FileKindDump> makePidFdDump() {
    return std::make_unique<PidFdKindDump>();
}

std::unique_ptr<FileKindRestore> makePidFdRestore() {
    return std::make_unique<PidFdKindRestore>();
}

}  // namespace criu::files
