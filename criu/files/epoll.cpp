// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/anonymous_kinds.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "criu/base/error.hpp"
#include "criu/files/epoll_target.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/files/user_limit.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/proc/kcmp.hpp"
#include "images/eventpoll.hpp"
#include "images/fdinfo.hpp"

namespace criu::files {
namespace {

/// struct epoll_params of <linux/eventpoll.h> (Linux 6.9): the way in which epoll_wait(2) polls network devices.
struct BusyPolling {
    std::uint32_t microseconds = 0;
    std::uint16_t budget = 0;
    std::uint8_t prefer = 0;
    std::uint8_t padding = 0;
};
constexpr unsigned long kSetBusyPolling = _IOW(0x8a, 1, BusyPolling);  // EPIOCSPARAMS
constexpr unsigned long kGetBusyPolling = _IOR(0x8a, 2, BusyPolling);  // EPIOCGPARAMS

constexpr std::uint32_t kHow = EPOLLONESHOT | EPOLLET | EPOLLWAKEUP | EPOLLEXCLUSIVE;
/// All events that a target can report without an error.
constexpr std::uint32_t kAnyReadiness = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLRDNORM | EPOLLWRNORM;

/// Returns true if a target with EPOLLONESHOT has fired: it has reported its event. A fired target reports nothing, not
/// even errors, until epoll_ctl(2) arms it again.
bool hasFired(const EventpollTfdEntry& target) {
    return (target.events & EPOLLONESHOT) != 0 && (target.events & ~kHow) == 0;
}

class RestoredEpoll final : public RestoredFile {
public:
    explicit RestoredEpoll(const EventpollFileEntry& entry) : entry_(entry) {}

    [[nodiscard]] std::string describe() const override { return "epoll"; }

    void open(FileOpener& opener) override {
        UniqueFd fd(sys(::epoll_create1(EPOLL_CLOEXEC), "create an epoll file"));
        const int flags = static_cast<int>(entry_.flags);
        sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of an epoll file", flags);
        opener.provide(FileId{entry_.id}, std::move(fd));
    }

    void complete(PlacedFiles& files) override {
        const int self = files.find(FileId{entry_.id});
        // Adds fired targets first, so that fire(), which calls epoll_wait(2), finds no other target in the set.
        for (const bool fired : {true, false})
            for (const EventpollTfdEntry* const target : list(entry_.tfd, entry_.n_tfd)) {
                if (hasFired(*target) != fired)
                    continue;
                const ErrorContext context([&] { return fmt::format("target fd {}", numberOfTarget(*target)); });
                if (target->id == 0)
                    add(self, *target);
                else
                    addUnderOldNumber(self, *target, files);
            }
        setBusyPolling(self);
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    static void add(int self, const EventpollTfdEntry& target) {
        epoll_event event{};
        event.events = target.events;
        event.data.u64 = target.data;
        if (hasFired(target))
            event.events |= kAnyReadiness;
        const int result = ::epoll_ctl(self, EPOLL_CTL_ADD, numberOfTarget(target), &event);
        if (const int code = errno; result != 0)
            failAtLimit(code, ENOSPC, fmt::format("add events {:#x} to epoll fd {}", target.events, self),
                        "fs.epoll.max_user_watches");
        if (hasFired(target))
            fire(self, target);
    }

    /// Disarms a fired target by making it report its event again. Needed because epoll_ctl(2) always arms a target for
    /// errors and hang-ups, but a fired target must not report them. A target that isn't ready stays armed for these
    /// two events.
    static void fire(int self, const EventpollTfdEntry& target) {
        epoll_event event{};
        if (sys(::epoll_wait(self, &event, 1, 0), "wait for epoll fd {}", self) != 0)
            return;
        event.events = target.events;
        event.data.u64 = target.data;
        sys(::epoll_ctl(self, EPOLL_CTL_MOD, numberOfTarget(target), &event), "set events {:#x} of epoll fd {}",
            target.events, self);
    }

    void setBusyPolling(int self) const {
        BusyPolling wanted;
        wanted.microseconds = entry_.has_busy_poll_usecs != 0 ? entry_.busy_poll_usecs : 0;
        wanted.budget = static_cast<std::uint16_t>(entry_.has_busy_poll_budget != 0 ? entry_.busy_poll_budget : 0);
        wanted.prefer = entry_.has_prefer_busy_poll != 0 && entry_.prefer_busy_poll != 0 ? 1 : 0;
        // Ignores the error of a kernel without this setting, because the setting influences only the speed.
        if ((wanted.microseconds != 0 || wanted.budget != 0 || wanted.prefer != 0) &&
            ::ioctl(self, kSetBusyPolling, &wanted) != 0 && errno != ENOTTY && errno != EINVAL)
            failErrno("set how an epoll file polls network devices");
    }

    /// Adds a target under its dumped descriptor number, because this number identifies the target in the set
    /// (epoll(7)). The number may be closed or refer to another file. For the call, criu opens the target's file at
    /// this number; afterwards it restores the other file.
    static void addUnderOldNumber(int self, const EventpollTfdEntry& target, PlacedFiles& files) {
        const int number = numberOfTarget(target);
        const UniqueFd file = files.fetch(FileId{target.id});
        UniqueFd present;
        const int flags = ::fcntl(number, F_GETFD);
        if (flags >= 0)
            present = files.toServiceRange(UniqueFd(sys(::fcntl(number, F_DUPFD_CLOEXEC, 0), "copy fd {}", number)));
        // If the number is that of the epoll file itself, criu uses a copy of the epoll file.
        const int through = number == self ? present.get() : self;
        sys(::dup3(file.get(), number, O_CLOEXEC), "put the target at its old number");
        try {
            add(through, target);
        } catch (...) {
            takeBack(number, present.get(), flags);
            throw;
        }
        takeBack(number, present.get(), flags);
    }

    static void takeBack(int number, int present, int flags) {
        if (present < 0)
            ::close(number);
        else
            sys(::dup3(present, number, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0), "put fd {} back", number);
    }

    const EventpollFileEntry& entry_;
};

class EpollKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override { return file.isAnonymous("[eventpoll]"); }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        const std::vector<kernel::EpollTarget> targets = kernel::parseEpoll(file.info.text);
        auto& out = *dump.arena().make<EventpollFileEntry>();
        entry.epfd = &out;
        out.id = entry.id;
        out.flags = file.statusFlags();
        out.fown = dump.owner(file);
        BusyPolling polling;
        if (::ioctl(file.copy.get(), kGetBusyPolling, &polling) == 0) {
            out.has_busy_poll_usecs = polling.microseconds != 0;
            out.busy_poll_usecs = polling.microseconds;
            out.has_busy_poll_budget = polling.budget != 0;
            out.busy_poll_budget = polling.budget;
            out.has_prefer_busy_poll = out.prefer_busy_poll = polling.prefer != 0;
        }
        out.n_tfd = targets.size();
        out.tfd = dump.arena().messages<EventpollTfdEntry>(targets.size());
        for (std::size_t i = 0; i < targets.size(); ++i) {
            const kernel::EpollTarget& from = targets[i];
            EventpollTfdEntry& to = *out.tfd[i];
            to.tfd = static_cast<std::uint32_t>(from.fd);
            to.events = from.events;
            to.data = from.data;
            if (!from.pos || !from.inode || !from.device)
                continue;
            to.has_pos = to.has_inode = to.has_dev = 1;
            to.pos = static_cast<std::uint64_t>(*from.pos);
            to.inode = *from.inode;
            to.dev = *from.device;
        }
        dumped_.push_back({&out, file.pid, file.actor, file.fd, file.describe()});
    }

    void finish(FileDump& dump) override {
        for (const Dumped& epoll : dumped_) {
            const ErrorContext context([&] { return epoll.name; });
            resolve(epoll, dump);
        }
    }

private:
    struct Dumped {
        EventpollFileEntry* entry;
        HostPid pid;
        HostPid actor;
        int fd;
        std::string name;
    };

    /// Finds the file of each target. The process may have closed or reused the target's descriptor number.
    static void resolve(const Dumped& epoll, FileDump& dump) {
        const std::span<const SeenFd> own = dump.descriptorsOf(epoll.pid);
        std::map<std::uint32_t, std::uint32_t>
            seenNumbers;  // several targets may have the same number; kcmp(2) identifies one by its place among them
        std::set<std::uint32_t> taken;
        std::vector<std::pair<EventpollTfdEntry*, kernel::EpollSlot>> strays;
        for (EventpollTfdEntry* const target : list(epoll.entry->tfd, epoll.entry->n_tfd)) {
            const kernel::EpollSlot slot{static_cast<std::uint32_t>(epoll.fd), target->tfd, seenNumbers[target->tfd]++};
            const auto there = std::lower_bound(own.begin(), own.end(), static_cast<int>(target->tfd),
                                                [](const SeenFd& seen, int fd) { return seen.fd < fd; });
            if (there != own.end() && there->fd == static_cast<int>(target->tfd) && same(*there, epoll, slot))
                taken.insert(target->tfd);
            else
                strays.emplace_back(target, slot);
        }
        for (const auto& [target, slot] : strays)
            resolveStray(epoll, *target, slot, own, taken, dump);
    }

    static void resolveStray(const Dumped& epoll, EventpollTfdEntry& target, const kernel::EpollSlot& slot,
                             std::span<const SeenFd> own, std::set<std::uint32_t>& taken, FileDump& dump) {
        const std::vector<SeenFd> candidates =
            target.has_inode != 0 ? dump.seen(kernel::deviceOf(target.dev), target.inode) : std::vector<SeenFd>{};
        const auto found = std::find_if(candidates.begin(), candidates.end(),
                                        [&](const SeenFd& candidate) { return same(candidate, epoll, slot); });
        if (found == candidates.end()) {
            Error error(0,
                        fmt::format("its target fd {} (inode {}) was closed, and no process of the tree has the file "
                                    "under another number",
                                    target.tfd, target.inode));
            error.addHint("the file lives on outside of the tree or in a message");
            throw error;
        }
        target.id = found->id.value;
        // CRIU 4.2 adds the target under another descriptor number of the same file in this process. It would refuse a
        // number under which the set has another target.
        for (const SeenFd& descriptor : own)
            if (descriptor.id == found->id && taken.insert(static_cast<std::uint32_t>(descriptor.fd)).second) {
                target.has_old_tfd = 1;
                target.old_tfd = target.tfd;
                target.tfd = static_cast<std::uint32_t>(descriptor.fd);
                return;
            }
    }

    static bool same(const SeenFd& candidate, const Dumped& epoll, const kernel::EpollSlot& slot) {
        return kernel::kcmpEpollTarget(candidate.actor.value, candidate.fd, epoll.actor.value, slot) ==
               std::partial_ordering::equivalent;
    }

    std::vector<Dumped> dumped_;
};

class EpollKindRestore final : public FileKindRestore {
public:
    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.epfd == nullptr)
            fail("file {} is an epoll file without data", entry.id);
        return std::make_shared<RestoredEpoll>(*entry.epfd);
    }
};

}  // namespace

std::unique_ptr<FileKindDump> makeEpollDump() {
    return std::make_unique<EpollKindDump>();
}

std::unique_ptr<FileKindRestore> makeEpollRestore() {
    return std::make_unique<EpollKindRestore>();
}

}  // namespace criu::files
