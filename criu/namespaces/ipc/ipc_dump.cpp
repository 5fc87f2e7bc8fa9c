// SPDX-License-Identifier: GPL-2.0-only
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/sysv_ipc.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/shmem/sysv_segment.hpp"
#include "criu/memory/shmem/sysv_shm.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/ipc_owner.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/ipc/ipc_limits.hpp"
#include "criu/namespaces/ipc/ipc_messages.hpp"
#include "criu/namespaces/ipc/ipc_semaphores.hpp"
#include "criu/namespaces/ipc/ipc_shared_memory.hpp"
#include "criu/namespaces/ipc/posix_queues_dump.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/non_root_ns_dump.hpp"

namespace criu::namespaces {
namespace {

/// Content of a private IPC namespace. All functions must be called by a thread in that namespace.
class IpcDump {
public:
    /// `number`: namespace id. `owners`: id map by which uids and gids become those of the tree.
    IpcDump(std::uint32_t number, const model::IdMap& owners) : number_(number), owners_(owners) {}

    /// Reads the semaphores and finds POSIX message queues. Throws Error for objects that can't be dumped.
    void check();

    /// Returns the ids of all System V shared memory segments.
    [[nodiscard]] std::vector<int> sharedMemory() const;
    /// Sets the numbers of segments' contents in images. By default, they are the segment ids. Must precede write().
    void setContentNumbers(ContentNumbers numbers) { contents_ = std::move(numbers); }

    /// Returns the named queues of the namespace. The dump of descriptors adds the deleted queues.
    [[nodiscard]] PosixQueuesDump& posixQueues() noexcept { return posixQueues_; }

    /// Returns the semaphore sets with the values that check() has read. Before write(), the caller adds the undo
    /// values of processes.
    [[nodiscard]] std::vector<SemaphoreSet>& semaphores() noexcept { return semaphores_; }

    /// Writes the images. Returns the number of pages written. All processes in the namespace must be frozen. Throws
    /// Error, also if a stop is requested.
    std::uint64_t write(const ImageDir& images, memory::PageSinks& sinks, memory::Drainer& drainer,
                        StopRequest& stop) const;

private:
    std::uint32_t number_;
    const model::IdMap& owners_;
    std::vector<SemaphoreSet> semaphores_;
    PosixQueuesDump posixQueues_;
    ContentNumbers contents_;
};

void IpcDump::check() {
    semaphores_ = readSemaphoreSets();
    posixQueues_.find();
}

std::vector<int> IpcDump::sharedMemory() const {
    return kernel::listIpcIds(kernel::IpcKind::SharedMemory);
}

std::uint64_t IpcDump::write(const ImageDir& images, memory::PageSinks& sinks, memory::Drainer& drainer,
                             StopRequest& stop) const {
    Arena arena;
    IpcVarEntry& limits = *arena.make<IpcVarEntry>();
    readIpcLimits(limits, arena);
    ImageWriter image = images.create(ImageKind::IpcVar, number_);
    image.write(limits);
    image.finish();

    ImageWriter messages = images.create(ImageKind::IpcMsg, number_);
    std::vector<MessageQueue> queues = readMessageQueues(stop);
    for (MessageQueue& queue : queues)
        model::toInside(queue.desc, owners_);
    writeMessageQueues(messages, queues);
    messages.finish();
    ImageWriter semaphores = images.create(ImageKind::IpcSem, number_);
    std::vector<SemaphoreSet> sets = semaphores_;
    for (SemaphoreSet& set : sets)
        model::toInside(set.desc, owners_);
    writeSemaphoreSets(semaphores, sets);
    semaphores.finish();
    if (!posixQueues_.empty())
        posixQueues_.write(images, number_, owners_);
    return dumpSharedMemory(images, number_, owners_, contents_, sinks, drainer);
}

class IpcNamespaceDump final : public NonRootNsKindDump {
public:
    explicit IpcNamespaceDump(const DumpInputs& with)
        : NonRootNsKindDump(kernel::NamespaceKind::Ipc, with, Enters::BeforeItsFiles) {
        if (!isOwn() && further_.empty()) {
            with.nsContext.systemV = rootNumber();
            return;
        }
        if (isOwn())
            add(with.tree.root(), rootNumber());
        for (const auto& space : further_.all())
            add(*space.member, space.number);
        numberContents();
        if (!further_.empty())
            requireSeparate();
        with.nsContext.semaphoresOf = [this](HostPid process) {
            IpcDump* const content = contentOf(process);
            return content != nullptr ? &content->semaphores() : nullptr;
        };
        if (isOwn())
            with.nsContext.posixQueues = &spaces_.front()->content.posixQueues();
    }

    void write(const DumpOutputs& outputs) override {
        for (const auto& space : spaces_)
            write(*space, outputs);
        further_.noteExtension(outputs);
    }

private:
    struct Space {
        Space(const SeenProcess& process, std::uint32_t inImages, const model::IdMap& owners)
            : member(process), number(inImages), content(inImages, owners) {}

        const SeenProcess& member;
        std::uint32_t number;
        IpcDump content;
    };

    void add(const SeenProcess& member, std::uint32_t number) {
        const auto& with = inputs();
        Space& space = *spaces_.emplace_back(std::make_unique<Space>(member, number, with.nsContext.ids));
        inside(member, [&] { space.content.check(); });
        if (space.content.posixQueues().empty())
            return;
        if (with.options.compat)
            fail("the IPC namespace of {} has POSIX message queues, which CRIU 4.2 can't restore", member.describe());
        requireNoForeignMembers(space);
    }

    /// Returns null if the process is in criu's namespace.
    [[nodiscard]] IpcDump* contentOf(HostPid process) {
        const std::uint32_t number = numberOf(process);
        const auto found =
            std::find_if(spaces_.begin(), spaces_.end(), [&](const auto& space) { return space->number == number; });
        return found != spaces_.end() ? &(*found)->content : nullptr;
    }

    /// Assigns numbers to the contents of shared memory. In the root's namespace, these are the segment ids. In
    /// non-root namespaces, these are numbers that no segment of the root's namespace has as its id.
    void numberContents() {
        std::vector<std::vector<int>> ids(spaces_.size());
        for (std::size_t i = 0; i < spaces_.size(); ++i)
            inside(spaces_[i]->member, [&] { ids[i] = spaces_[i]->content.sharedMemory(); });
        std::vector<std::uint32_t>& all = inputs().nsContext.sharedMemory;
        std::uint32_t next = 0;
        if (isOwn())
            for (const int id : ids.front()) {
                all.push_back(static_cast<std::uint32_t>(id));
                next = std::max(next, all.back() + 1);
            }
        for (std::size_t i = firstFurther(); i < spaces_.size(); ++i) {
            ContentNumbers numbers;
            for (const int id : ids[i]) {
                all.push_back(next);
                numbers.emplace(id, next++);
            }
            spaces_[i]->content.setContentNumbers(std::move(numbers));
        }
    }

    [[nodiscard]] std::size_t firstFurther() const { return isOwn() ? 1 : 0; }

    /// Refuses processes that use objects of an IPC namespace in which they aren't, because a restore finds objects
    /// only in the namespace of the process. /proc shows attached segments only by ids, and segments of several
    /// namespaces may have equal ids. So criu compares the kernel's attach counts with the mappings.
    void requireSeparate() {
        // attach counts; the keys are namespace id and segment id
        std::map<std::uint32_t, std::map<int, std::uint64_t>> attached;
        std::set<std::uint32_t> mountsSeen;
        for (const SeenProcess& process : inputs().tree.processes) {
            auto& here = attached[numberOf(process.pid)];
            for (const kernel::Vma& vma : kernel::readMaps(process.dir))
                if (memory::isSysvShm(vma.name))
                    ++here[static_cast<int>(vma.inode)];
            if (mountsSeen.insert(process.ids.of(kernel::NamespaceKind::Mount).value_or(0)).second)
                requireNoQueueMounts(process);
        }
        // Checks that ids are unique: otherwise segments of criu's namespace and of a non-root namespace could have
        // equal numbers in images.
        if (const auto& ofCriu = attached[rootNumber()]; !isOwn() && !ofCriu.empty())
            fail(
                "System V shared memory {} of criu's IPC namespace is attached in a tree that has others, too, which "
                "can't be dumped yet",
                ofCriu.begin()->first);
        for (const auto& space : spaces_) {
            space->content.posixQueues().refuseDescriptors();
            inside(space->member, [&] { requireAttached(*space, attached[space->number]); });
        }
    }

    static void requireAttached(Space& space, std::map<int, std::uint64_t>& attached) {
        for (const int id : space.content.sharedMemory()) {
            const auto status = memory::findSegment(id);
            const std::uint64_t count = attached[id];
            attached.erase(id);
            if (status && status->shm_nattch != count)
                fail(
                    "System V shared memory {} in the IPC namespace of {} is attached {} times, {} of them by "
                    "processes "
                    "of the tree in that namespace; others can't be dumped",
                    id, space.member.describe(), status->shm_nattch, count);
        }
        for (const auto& [id, count] : attached)
            if (count != 0)
                fail(
                    "System V shared memory {} is attached by a process in the IPC namespace of {}, but isn't of that "
                    "namespace, which can't be dumped",
                    id, space.member.describe());
    }

    /// Refuses a process that has mounted the queues of a non-root namespace, because a restore would mount the queues
    /// of the root's namespace.
    void requireNoQueueMounts(const SeenProcess& process) {
        kernel::ProcBuffer buffer;
        const kernel::MountTable mounts = kernel::readMountInfo(process.dir, buffer);
        for (const kernel::MountInfo& mount : mounts.all())
            for (std::size_t i = firstFurther(); i < spaces_.size(); ++i)
                if (makedev(mount.devMajor, mount.devMinor) == spaces_[i]->content.posixQueues().device())
                    fail(
                        "{} sees at {} the POSIX message queues of the IPC namespace of {}, a mount that can't be "
                        "dumped: that namespace isn't the root's",
                        process.describe(), mount.mountPoint, spaces_[i]->member.describe());
    }

    void write(Space& space, const DumpOutputs& outputs) {
        if (!space.content.posixQueues().empty()) {
            requireNoForeignMembers(space);  // checks again, because nameOf() may have added deleted queues
            if (std::find(outputs.extensions.begin(), outputs.extensions.end(), kPosixQueues) ==
                outputs.extensions.end())
                outputs.extensions.emplace_back(kPosixQueues);
        }
        StopRequest& stop = inputs().stop;
        inside(space.member, [&] {
            memory::Drainer::Options how;
            how.stopWanted = [&stop] { return stop.requested(); };
            memory::Drainer drainer(how);
            outputs.sharedPagesWritten += space.content.write(outputs.images, outputs.pages, drainer, stop);
        });
    }

    /// Throws Error if an external process is in the namespace. Clones with memory snapshots are traced by criu. A dump
    /// removes all messages from a queue for a moment. Then an external process could find the queue empty, or fill it.
    void requireNoForeignMembers(const Space& space) const {
        const kernel::ProcDir proc;
        for (const pid_t pid : proc.processes()) {
            if (inputs().tree.pids.contains(HostPid(pid)) || !isInside(space, proc, pid) || isTracedByCriu(proc, pid))
                continue;
            Error error(0,
                        fmt::format("process {} isn't part of the tree but shares the POSIX message queues of its IPC "
                                    "namespace, which can't be read without taking messages out",
                                    pid));
            error.addHint("end it, or have it leave that namespace");
            throw error;
        }
    }

    [[nodiscard]] static bool isTracedByCriu(const kernel::ProcDir& proc, pid_t pid) {
        kernel::ProcBuffer buffer;
        try {
            return kernel::readStatus(proc.open(pid), buffer).tracerPid == ::getpid();
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
            return true;  // the process has ended
        }
    }

    [[nodiscard]] bool isInside(const Space& space, const kernel::ProcDir& proc, pid_t pid) const {
        try {
            return kernel::readNamespaceId(proc.open(pid), kind()) == space.member.ids.of(kind());
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
            return false;  // the process has ended
        }
    }

    /// Namespaces to dump. The root's namespace is the first, unless it is criu's namespace, which isn't dumped.
    std::vector<std::unique_ptr<Space>> spaces_;
};

}  // namespace

std::unique_ptr<NamespaceDump> makeIpcDump(const DumpInputs& inputs) {
    return std::make_unique<IpcNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
