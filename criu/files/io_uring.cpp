// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/io_uring.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "criu/base/error.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/io_uring_probe.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/kernel/io_uring.hpp"
#include "images/fdinfo.hpp"
#include "images/io-uring.hpp"

namespace criu::files {
namespace {

std::string plural(std::uint32_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Kind of a refusal: ForNow means that a later dump may succeed, ForGood that it can't.
enum class RingRefusal : std::uint8_t { ForNow, ForGood };

[[noreturn]] void refuse(const OpenFd& file, std::string_view what, RingRefusal how = RingRefusal::ForGood) {
    Error error(0, fmt::format("{} is an io_uring {}, which can't be dumped", file.describe(), what));
    error.addHint(fmt::format(
        "{}start the program without io_uring: by an option of its own (UV_USE_IO_URING=0 for node), or with the "
        "sysctl kernel.io_uring_disabled=2",
        how == RingRefusal::ForNow ? "try again when it is idle, or " : ""));
    throw error;
}

/// Throws Error unless every request has its completion. Compares the counters of requests and completions. Both count
/// the same only if each request makes exactly one completion; rings with other requests are refused.
void requireIdle(const OpenFd& file, const kernel::IoUringInfo& info) {
    const auto inFlight = static_cast<std::int32_t>(info.sqTaken - info.cqPosted);
    if (inFlight > 0)
        refuse(file, fmt::format("with {} in flight", plural(static_cast<std::uint32_t>(inFlight), "request")),
               RingRefusal::ForNow);
    if (info.waiting != 0)
        refuse(file, fmt::format("with {} in flight", plural(info.waiting, "request")), RingRefusal::ForNow);
    if (inFlight < 0)
        refuse(file,
               "on which requests have made several completions each, so that it is unknown how many are still "
               "in flight");
    if (info.overflowed != 0)
        refuse(file, fmt::format("with {} that found no room", plural(info.overflowed, "completion")),
               RingRefusal::ForNow);
    if (info.sqTaken > kMostIoUringRequests)
        refuse(file,
               fmt::format("that has served {}: counting as far would take too long", plural(info.sqTaken, "request")));
}

class IoUringKindDump final : public FileKindDump {
public:
    explicit IoUringKindDump(const RingOwners& owners) : owners_(owners) {}

    [[nodiscard]] bool claims(const OpenFd& file) const override { return file.isAnonymous("[io_uring]"); }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        if (file.inFlight)
            refuse(file, "in a socket's queue");
        const kernel::IoUringInfo info = kernel::parseIoUring(file.info.text);
        requireIdle(file, info);
        const RingThread* const thread = info.polledByKernel ? threadOf(file, info) : nullptr;
        if (info.personalities)
            refuse(file, "with registered credentials");
        if (info.busyPolling)
            refuse(file, "that polls network devices");
        IoUringProbe probe(file.copy.get(), info, owners_.answersTo(file.pid, file.fd));
        if (const auto what = probe.whatCantBeCarried(); !what.empty())
            refuse(file, what);

        Arena& arena = dump.arena();
        auto& out = *arena.make<IoUringEntry>();
        entry.io_uring = &out;
        out.id = entry.id;
        out.flags = file.statusFlags();
        out.fown = dump.owner(file);
        out.file_slots = info.fileSlots;
        out.buffer_slots = info.bufferSlots;
        probe.store(out, arena);
        storeBuffers(info, out, arena);
        if (thread != nullptr)
            storeThread(file, info, *thread, out, arena);

        Pending pending{file.pid, file.describe(), &out, info.files, probe.hasEventFd()};
        if (!pending.files.empty() || pending.hasEventFd)
            pending_.push_back(std::move(pending));
    }

    void finish(FileDump& dump) override {
        for (const auto& [id, name] : polled_)
            if (const std::vector<HostPid> users = dump.users(id); users.size() > 1) {
                Error error(0, fmt::format("{} is an io_uring with a kernel thread (IORING_SETUP_SQPOLL), and process "
                                           "{} has inherited it, so it can't be dumped",
                                           name, users.back()));
                error.addHint(
                    fmt::format("have process {} close it, or start the program without IORING_SETUP_SQPOLL, or "
                                "without io_uring",
                                users.back()));
                throw error;
            }
        std::map<HostPid, Candidates> all;
        for (const Pending& ring : pending_) {
            const auto [at, fresh] = all.try_emplace(ring.pid);
            if (fresh)
                at->second = candidatesOf(ring.pid, dump);
            const Candidates& candidates = at->second;
            storeFiles(ring, candidates, dump.arena());
            if (ring.hasEventFd) {
                ring.entry->has_eventfd_id = 1;
                ring.entry->eventfd_id =
                    only(ring, "the eventfd it is to signal", "anon_inode:[eventfd]", candidates).value;
            }
        }
    }

private:
    /// Ring whose registered files finish() determines, because only then all descriptors of the process are known.
    struct Pending {
        HostPid pid;
        std::string name;
        IoUringEntry* entry = nullptr;
        std::vector<kernel::IoUringFile> files;
        bool hasEventFd = false;
    };
    /// File ids of a process' descriptors; the key is the escaped text of the link /proc/PID/fd/N.
    using Candidates = std::map<std::string, std::set<FileId>, std::less<>>;

    /// Returns the kernel thread that submits requests of the ring. Refuses rings whose thread a restore couldn't
    /// create.
    const RingThread* threadOf(const OpenFd& file, const kernel::IoUringInfo& info) const {
        const RingThread* const thread = owners_.threadOf(file.pid, file.fd);
        if (thread == nullptr)
            refuse(file, "with a kernel thread (IORING_SETUP_SQPOLL) whose memory the process doesn't map");
        if (info.sqTail != info.sqTaken)
            refuse(file,
                   fmt::format("whose kernel thread hasn't taken {}", plural(info.sqTail - info.sqTaken, "request")),
                   RingRefusal::ForNow);
        if (info.sqTaken / (info.cqMask + 1) > kMostThreadRounds)
            refuse(file, fmt::format("whose kernel thread has served {}: counting as far would take too long",
                                     plural(info.sqTaken, "request")));
        return thread;
    }

    void storeThread(const OpenFd& file, const kernel::IoUringInfo& info, const RingThread& thread, IoUringEntry& out,
                     Arena& arena) {
        if (out.fown->pid != 0)
            refuse(file, "with a kernel thread (IORING_SETUP_SQPOLL) and with a signal owner (F_SETOWN)");
        out.setup_flags |= IORING_SETUP_SQPOLL;
        out.thread = arena.make<IoUringThread>();
        out.thread->ring = threads_.emplace(info.thread, out.id).first->second;
        if (thread.cpu) {
            out.setup_flags |= IORING_SETUP_SQ_AFF;
            out.thread->has_cpu = 1;
            out.thread->cpu = *thread.cpu;
        }
        polled_.emplace(FileId{out.id}, file.describe());
    }

    static void storeBuffers(const kernel::IoUringInfo& info, IoUringEntry& out, Arena& arena) {
        out.buffers = arena.array<IoUringBuffer*>(info.buffers.size());
        for (const kernel::IoUringBuffer& buffer : info.buffers) {
            auto& to = *arena.make<IoUringBuffer>();
            to.slot = buffer.slot;
            to.address = buffer.address;
            to.size = buffer.size;
            out.buffers[out.n_buffers++] = &to;
        }
    }

    static Candidates candidatesOf(HostPid pid, FileDump& dump) {
        Candidates found;
        const std::span<const SeenFd> descriptors = dump.descriptorsOf(pid);
        if (descriptors.empty())
            return found;
        const kernel::ProcPid process = kernel::ProcDir().open(descriptors.front().actor.value);
        for (const SeenFd& seen : descriptors)
            found[escaped(process.readLink(fmt::format("fd/{}", seen.fd)))].insert(seen.id);
        return found;
    }

    /// Escapes a path in the same way as /proc/PID/fdinfo.
    static std::string escaped(std::string_view path) {
        std::string out;
        for (const char byte : path) {
            if (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\\')
                out += fmt::format("\\{:03o}", static_cast<unsigned char>(byte));
            else
                out += byte;
        }
        return out;
    }

    /// Returns the file id of a registered file. fdinfo shows only the path of a registered file. So refuses a path
    /// that belongs to several open file descriptions.
    static FileId only(const Pending& ring, std::string_view what, std::string_view path, const Candidates& all) {
        const auto found = all.find(path);
        if (found == all.end()) {
            Error error(0, fmt::format("{} is an io_uring, and {} ({}) isn't a descriptor of the process, so it can't "
                                       "be dumped",
                                       ring.name, what, path));
            error.addHint("have the program keep a descriptor of the file, or take the file out of the ring");
            throw error;
        }
        if (found->second.size() != 1) {
            Error error(0, fmt::format("{} is an io_uring, and {} ({}) may be one of {} that the process has open, so "
                                       "it can't be dumped",
                                       ring.name, what, path, found->second.size()));
            error.addHint("have the program close the others, or take the file out of the ring");
            throw error;
        }
        return *found->second.begin();
    }

    static void storeFiles(const Pending& ring, const Candidates& candidates, Arena& arena) {
        IoUringEntry& out = *ring.entry;
        out.files = arena.array<IoUringFile*>(ring.files.size());
        for (const kernel::IoUringFile& file : ring.files) {
            auto& to = *arena.make<IoUringFile>();
            to.slot = file.slot;
            to.file_id = only(ring, fmt::format("its registered file {}", file.slot), file.path, candidates).value;
            out.files[out.n_files++] = &to;
        }
    }

    const RingOwners& owners_;
    std::vector<Pending> pending_;
    std::map<FileId, std::string> polled_;           ///< texts for messages about the rings with a kernel thread
    std::map<std::int32_t, std::uint32_t> threads_;  ///< first ring of each kernel thread; the key is the thread's tid
};

class IoUringKindRestore final : public FileKindRestore {
public:
    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.io_uring == nullptr)
            fail("file {} is an io_uring without data", entry.id);
        return makeRestoredIoUring(*entry.io_uring);
    }
};

}  // namespace

std::unique_ptr<FileKindDump> makeIoUringDump(const RingOwners& owners) {
    return std::make_unique<IoUringKindDump>(owners);
}

std::unique_ptr<FileKindRestore> makeIoUringRestore() {
    return std::make_unique<IoUringKindRestore>();
}

}  // namespace criu::files
