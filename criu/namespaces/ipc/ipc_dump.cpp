// SPDX-License-Identifier: GPL-2.0-only
#include <sys/sysmacros.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/shmem/sysv_segment.hpp"
#include "criu/memory/shmem/sysv_shm.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/ipc/ipc.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/non_root_ns_dump.hpp"

namespace criu::namespaces {
namespace {

class IpcNamespaceDump final : public NonRootNsKindDump {
public:
    explicit IpcNamespaceDump(const DumpInputs& with)
        : NonRootNsKindDump(kernel::NamespaceKind::Ipc, with, Enters::BeforeItsFiles) {
        if (!isOwn() && further_.empty()) {
            with.surroundings.systemV = rootNumber();
            return;
        }
        if (isOwn())
            add(with.tree.root(), rootNumber());
        for (const auto& space : further_.all())
            add(*space.member, space.number);
        numberContents();
        if (!further_.empty())
            requireSeparate();
        with.surroundings.semaphoresOf = [this](HostPid process) {
            IpcDump* const content = contentOf(process);
            return content != nullptr ? &content->semaphores() : nullptr;
        };
        if (isOwn())
            with.surroundings.posixQueues = &spaces_.front()->content.posixQueues();
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
        Space& space = *spaces_.emplace_back(std::make_unique<Space>(member, number, with.surroundings.ids));
        inside(member, [&] { space.content.check(); });
        if (space.content.posixQueues().empty())
            return;
        if (with.options.compat)
            fail("the IPC namespace of {} has POSIX message queues, which CRIU 4.2 can't restore", member.describe());
        requireNoForeignMembers(space);
    }

    /// Null if the process is in criu's namespace.
    [[nodiscard]] IpcDump* contentOf(HostPid process) {
        const std::uint32_t number = numberOf(process);
        const auto found =
            std::find_if(spaces_.begin(), spaces_.end(), [&](const auto& space) { return space->number == number; });
        return found != spaces_.end() ? &(*found)->content : nullptr;
    }

    /// Numbers the contents of shared memory. Contents of the root's segments have the segments' ids; contents of other
    /// namespaces' segments have numbers that are no ids of the root's.
    void numberContents() {
        std::vector<std::vector<int>> ids(spaces_.size());
        for (std::size_t i = 0; i < spaces_.size(); ++i)
            inside(spaces_[i]->member, [&] { ids[i] = spaces_[i]->content.sharedMemory(); });
        std::vector<std::uint32_t>& all = inputs().surroundings.sharedMemory;
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

    /// Refuses processes that use objects of another IPC namespace than their own: a restore looks for the objects in
    /// the process' namespace. /proc shows attached segments by ids, which are equal in several namespaces. So the
    /// attach counts of the kernel must match.
    void requireSeparate() {
        // attach counts, by namespace id and segment id
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
        // Segments of criu's namespace and of the others would have equal numbers in images.
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

    /// Refuses mounts of a non-root namespace's queues: a restore would mount the queues of the root's namespace.
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
            requireNoForeignMembers(space);  // checked again: deleted queues may have been added since
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

    /// Throws Error if an external process is in the namespace. A dump takes messages out of their queues for a moment.
    /// The external process could then find a queue empty, or fill it.
    void requireNoForeignMembers(const Space& space) const {
        const kernel::ProcDir proc;
        for (const pid_t pid : proc.processes()) {
            if (inputs().tree.pids.contains(HostPid(pid)) || !isInside(space, proc, pid))
                continue;
            Error error(0,
                        fmt::format("process {} isn't part of the tree but shares the POSIX message queues of its IPC "
                                    "namespace, which can't be read without taking messages out",
                                    pid));
            error.addHint("end it, or have it leave that namespace");
            throw error;
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

    std::vector<std::unique_ptr<Space>> spaces_;  ///< the root's first, unless that is criu's
};

}  // namespace

std::unique_ptr<NamespaceDump> makeIpcDump(const DumpInputs& inputs) {
    return std::make_unique<IpcNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
