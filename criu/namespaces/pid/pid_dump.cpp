// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/non_root_ns_dump.hpp"
#include "images/core.hpp"
#include "images/pidns.hpp"

/// Dump of pid namespaces (pid_namespaces(7)).
namespace criu::namespaces {
namespace {

class PidDump final : public NonRootNsKindDump {
public:
    explicit PidDump(const DumpInputs& with)
        : NonRootNsKindDump(kernel::NamespaceKind::Pid, with, Enters::BeforeItsFiles) {
        if (isOwn() && externalName() == nullptr)
            requireFirst();
        requireNoForeignMembers();
        for (const SeenProcess& process : with.tree.processes)
            if (process.ids.pidForChildren != process.ids.of(kind())) {
                requireChildren(process);
                childrenIn_.emplace(process.pid, process.ids.pidForChildren);
            }
        if (!further_.empty() && isOwn() && externalName() != nullptr)
            fail("{} is in a pid namespace below that of the tree, which can't be dumped with --external pid yet",
                 further_.all().front().member->describe());
    }

    void describe(HostPid process, TaskKobjIdsEntry& ids) const override {
        const auto found = childrenIn_.find(process);
        if (found == childrenIn_.end())
            return;
        ids.has_pid_for_children_ns_id = 1;
        ids.pid_for_children_ns_id = found->second ? numberOfSpace(*found->second) : 0;
    }

    void write(const DumpOutputs& outputs) override {
        if (const std::string* const name = isOwn() ? externalName() : nullptr) {
            std::string key = *name;
            PidnsEntry entry = PIDNS_ENTRY__INIT;
            entry.ext_key = key.data();
            writeEntry(outputs, rootNumber(), entry);
        }
        for (const auto& space : inputs().tree.nested.all())
            writeNested(outputs, *space);
        if (isExtended())
            outputs.extensions.emplace_back(kNestedPidNamespaces);
    }

private:
    /// Returns true if only this criu can restore the tree: CRIU 4.2 requires one pid namespace for all processes and
    /// their children.
    [[nodiscard]] bool isExtended() const { return !further_.empty() || !childrenIn_.empty(); }

    [[nodiscard]] std::uint32_t numberOfSpace(std::uint32_t inode) const {
        const auto* const space = further_.find(inode);
        return space == nullptr ? rootNumber() : space->number;
    }

    static void writeEntry(const DumpOutputs& outputs, std::uint32_t number, const PidnsEntry& entry) {
        ImageWriter image = outputs.images.create(ImageKind::Pidns, number);
        image.write(entry);
        image.finish();
    }

    void writeNested(const DumpOutputs& outputs, const model::NestedPids::Space& space) const {
        Arena arena;
        PidnsEntry entry = PIDNS_ENTRY__INIT;
        entry.has_parent = 1;
        entry.parent = space.parent == nullptr ? rootNumber() : numberOfSpace(space.parent->id);
        entry.numbers = arena.messages<PidNumberEntry>(space.numbers.size());
        for (const auto& [who, number] : std::map(space.numbers.begin(), space.numbers.end())) {
            entry.numbers[entry.n_numbers]->tree_pid = static_cast<std::uint32_t>(who.value);
            entry.numbers[entry.n_numbers++]->pid = static_cast<std::uint32_t>(number);
        }
        writeEntry(outputs, numberOfSpace(space.id), entry);
    }

    /// Returns NAME of --external pid[INODE]:NAME for the root's pid namespace; such a namespace may contain external
    /// processes. Returns null if the user has named no external pid namespace.
    [[nodiscard]] const std::string* externalName() const {
        const std::string inode = fmt::to_string(inputs().tree.root().ids.of(kind()).value_or(0));
        for (const model::External& external : inputs().options.externals)
            if (external.type == model::ExternalType::Pid && external.id == inode && external.value)
                return &*external.value;
        return nullptr;
    }

    /// Throws Error if a process has another pid namespace for children and a restore can't set it. The restored
    /// process calls setns(2) or unshare(2) itself, and can't create threads afterwards (copy_process() in
    /// kernel/fork.c).
    void requireChildren(const SeenProcess& process) const {
        const auto space = process.ids.pidForChildren;
        if (inputs().options.compat)
            fail("{} creates its children in another pid namespace than its own, which CRIU 4.2 can't restore",
                 process.describe());
        if (space && further_.find(*space) == nullptr)
            fail("{} creates its children in a pid namespace in which no process of the tree is", process.describe());
        if (process.threads.size() > 1)
            fail(
                "{} has several threads, and creates its children in another pid namespace than its own, which can't "
                "be dumped yet",
                process.describe());
    }

    /// Throws Error if the root isn't the first process of its pid namespace, because a pid namespace begins and ends
    /// with its first process.
    void requireFirst() const {
        const SeenTree& tree = inputs().tree;
        if (tree.root().treePid == TreePid(1))
            return;
        Error error(0, fmt::format("the root of the tree is process {} of a pid namespace, whose first process isn't "
                                   "part of the tree",
                                   tree.root().treePid));
        error.addHint(fmt::format("to be restored in a namespace that is given then: --external pid[{}]:NAME",
                                  tree.root().ids.of(kind()).value_or(0)));
        throw error;
    }

    void requireNoForeignMembers() const {
        const bool whole = isOwn() && externalName() == nullptr;
        if ((!whole && further_.empty()) || inputs().options.finalState == model::FinalState::Running)
            return;
        const SeenTree& tree = inputs().tree;
        const kernel::ProcDir proc;
        for (const pid_t pid : proc.processes()) {
            if (tree.pids.contains(HostPid(pid)) || !isInside(proc, pid, whole))
                continue;
            Error error(0, fmt::format("process {} is in the pid namespace of the tree but not part of the tree", pid));
            error.addHint("it was put there from outside (nsenter, exec of a container) and would be lost");
            throw error;
        }
    }

    /// Returns true if a process is in a pid namespace of the tree, and so would end with this namespace. If criu may
    /// not inspect the process, any pid namespace below criu's counts as one of the tree.
    [[nodiscard]] bool isInside(const kernel::ProcDir& proc, pid_t pid, bool whole) const {
        try {
            const kernel::ProcPid process = proc.open(pid);
            if (const std::optional<bool> same = isInSame(process, whole))
                return *same;
            kernel::ProcBuffer buffer;
            return kernel::readStatus(process, buffer).nsPid.size() > 1;
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
            return false;  // the process has ended
        }
    }

    [[nodiscard]] std::optional<bool> isInSame(const kernel::ProcPid& process, bool whole) const {
        try {
            const auto space = kernel::readNamespaceId(process, kernel::NamespaceKind::Pid);
            const SeenTree& tree = inputs().tree;
            if (!space || space == tree.criu.of(kind()))
                return false;
            const auto below = [&](std::uint32_t inode) { return kernel::isWithinPidNamespace(process, inode); };
            if (whole && below(tree.root().ids.of(kind()).value_or(0)))
                return true;
            return std::any_of(further_.all().begin(), further_.all().end(),
                               [&](const auto& each) { return below(each.inode); });
        } catch (const Error& error) {
            if (error.code() != EACCES && error.code() != EPERM)
                throw;
            return std::nullopt;
        }
    }

    /// Pid namespaces for children, by inode. Contains only processes with another pid namespace for children than
    /// their own; the key is the process. Unset if no process has been in the namespace yet.
    std::unordered_map<HostPid, std::optional<std::uint32_t>> childrenIn_;
};

}  // namespace

std::unique_ptr<NamespaceDump> makePidDump(const DumpInputs& inputs) {
    return std::make_unique<PidDump>(inputs);
}

}  // namespace criu::namespaces
