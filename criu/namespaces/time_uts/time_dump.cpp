// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/time_offsets.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/non_root_ns_dump.hpp"
#include "images/core.hpp"
#include "images/timens.hpp"

namespace criu::namespaces {
namespace {

Timespec toImage(const kernel::ClockTime& time) {
    Timespec out = TIMESPEC__INIT;
    out.tv_sec = static_cast<std::uint64_t>(time.seconds);
    out.tv_nsec = static_cast<std::uint64_t>(time.nanoseconds);
    return out;
}

/// Writes the clocks that time namespaces shift (time_namespaces(7)): monotonic and boot time, as processes see them.
/// In a restored tree, clocks continue from these values. `number`: namespace id, or 0 for a tree in criu's namespace.
/// `offsets`: offsets of the namespace; unset for criu's.
void writeClocks(const ImageDir& images, std::uint32_t number, const std::optional<kernel::TimeOffsets>& offsets) {
    kernel::ClockTime monotonic = kernel::ClockTime::of(CLOCK_MONOTONIC);
    kernel::ClockTime boottime = kernel::ClockTime::of(CLOCK_BOOTTIME);
    if (offsets) {
        const kernel::TimeOffsets ours = kernel::readTimeOffsets(kernel::ProcDir().self());
        monotonic = monotonic - ours.monotonic + offsets->monotonic;
        boottime = boottime - ours.boottime + offsets->boottime;
    }
    Timespec first = toImage(monotonic);
    Timespec second = toImage(boottime);
    TimensEntry entry = TIMENS_ENTRY__INIT;
    entry.monotonic = &first;
    entry.boottime = &second;
    ImageWriter image = images.create(ImageKind::Timens, number);
    image.write(entry);
    image.finish();
}

/// Reads the clock offsets of a time namespace. Uses a new child process in the namespace, because only a process with
/// one thread can enter a time namespace.
kernel::TimeOffsets offsetsWithin(int space) {
    const auto opened = kernel::openInNamespaces(std::span(&space, 1), {}, [] {
        const std::string text = kernel::ProcDir().self().readFile("timens_offsets");
        UniqueFd file(sys(::memfd_create("criu-offsets", MFD_CLOEXEC), "create a file in memory"));
        writeAt(file.get(), std::as_bytes(std::span(text)), 0);
        std::map<int, UniqueFd> result;
        result.emplace(0, std::move(file));
        return result;
    });
    const int file = opened.at(0).get();
    std::string text(static_cast<std::size_t>(sys(::lseek(file, 0, SEEK_END), "look at offsets of clocks")), '\0');
    readAt(file, std::as_writable_bytes(std::span(text)), 0);
    return kernel::parseTimeOffsets(text);
}

/// Dump of time namespaces; a tree may have several. unshare(2) creates a time namespace only for the children of the
/// caller; the caller stays in its own. A restore does the same in the process that created the namespace. So this
/// process must be an ancestor of all processes in the namespace.
class TimeDump final : public NonRootNsKindDump {
public:
    explicit TimeDump(const DumpInputs& with)
        : NonRootNsKindDump(kernel::NamespaceKind::Time, with, Enters::BeforeItsFiles) {
        for (const SeenProcess& process : with.tree.processes)
            if (process.ids.timeForChildren != process.ids.of(kind()))
                addMaker(process);
        if (makers_.empty())
            return;
        std::unordered_map<HostPid, const SeenProcess*> known;
        for (const SeenProcess& process : with.tree.processes)
            known.emplace(process.pid, &process);
        for (const SeenProcess& process : with.tree.processes)
            requireCreator(process, known);
    }

    void describe(HostPid process, TaskKobjIdsEntry& ids) const override {
        for (const auto& [inode, maker] : makers_)
            if (maker->pid == process) {
                ids.has_time_for_children_ns_id = 1;
                ids.time_for_children_ns_id = further_.find(inode)->number;
            }
    }

    /// Writes the clocks. Also writes them for a tree in criu's namespace, because restored clocks continue from the
    /// dump.
    void write(const DumpOutputs& outputs) override {
        const SeenProcess& root = inputs().tree.root();
        if (isOwn())
            writeClocks(outputs.images, rootNumber(), offsetsOf(root.ids.of(kind()).value_or(0), root));
        else
            writeClocks(outputs.images, 0, std::nullopt);
        for (const auto& space : further_.all())
            writeClocks(outputs.images, space.number, offsetsOf(space.inode, *space.member));
        further_.noteExtension(outputs);
    }

private:
    void addMaker(const SeenProcess& process) {
        const auto space = process.ids.timeForChildren;
        const SeenTree& tree = inputs().tree;
        if (!space || space == tree.root().ids.of(kind()) || space == tree.criu.of(kind()))
            fail(
                "{} has its children in the time namespace of the root of the tree, or of criu, and isn't in it itself",
                process.describe());
        if (const auto [known, fresh] = makers_.emplace(*space, &process); !fresh)
            fail(
                "{} and {} have their children in a time namespace that neither is in: no two processes can be made so",
                known->second->describe(), process.describe());
        if (further_.find(*space) == nullptr)
            further_.add(*space, process);
    }

    /// Throws Error if a process is in a namespace of makers_, and the creator of this namespace isn't an ancestor of
    /// the process. `known`: all processes.
    void requireCreator(const SeenProcess& process,
                        const std::unordered_map<HostPid, const SeenProcess*>& known) const {
        const auto maker = makers_.find(process.ids.of(kind()).value_or(0));
        if (maker == makers_.end())
            return;
        for (auto at = known.find(process.pid); at != known.end(); at = known.find(at->second->parent))
            if (at->second->parent == maker->second->pid)
                return;
        fail(
            "{} is in the time namespace that {} has its children in, but isn't below that process, which makes the "
            "namespace on a restore",
            process.describe(), maker->second->describe());
    }

    /// Returns the clock offsets of a time namespace. Reads /proc/PID/timens_offsets of a process whose time namespace
    /// for children this is, because the file shows that namespace. Without such a process, queries from within the
    /// namespace.
    [[nodiscard]] kernel::TimeOffsets offsetsOf(std::uint32_t inode, const SeenProcess& member) const {
        for (const SeenProcess& process : inputs().tree.processes)
            if (process.ids.timeForChildren == inode)
                return kernel::readTimeOffsets(process.dir);
        return offsetsWithin(member.dir.open("ns/time", O_RDONLY).get());
    }

    /// Processes that created a time namespace for their children; the key is the inode of the namespace.
    std::map<std::uint32_t, const SeenProcess*> makers_;
};

}  // namespace

std::unique_ptr<NamespaceDump> makeTimeDump(const DumpInputs& inputs) {
    return std::make_unique<TimeDump>(inputs);
}

}  // namespace criu::namespaces
