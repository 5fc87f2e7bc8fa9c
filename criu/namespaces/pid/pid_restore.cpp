// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/pid/pid_restore.hpp"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/pid/new_pid_namespace.hpp"
#include "images/core.hpp"
#include "images/pidns.hpp"

namespace criu::namespaces {
namespace {

/// Restore of nested pid namespaces. Each is created together with its first process, by clone3(2).
class NestedPidRestore : public NamespaceRestore {
public:
    explicit NestedPidRestore(const model::ProcessTree& tree) : nested_(tree.nested()) {
        for (const auto& task : tree.tasks)
            if (const auto number = numberForChildren(*task); number && task->threads.size() > 1)
                fail("process {} has several threads, and its children in another pid namespace than its own",
                     task->pid);
            else if (number && *number != 0 && !firstBelow(*task, *number))
                fail("process {} can't have its children in pid namespace {}, which isn't below its own", task->pid,
                     *number);
    }

    /// Returns true if the tree has nested pid namespaces, or processes with another pid namespace for children.
    static bool isNeeded(const model::ProcessTree& tree) {
        return !tree.nested().empty() || std::any_of(tree.tasks.begin(), tree.tasks.end(),
                                                     [](const auto& task) { return numberForChildren(*task); });
    }

    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return nested_.isFirst(task.pid) ? CLONE_NEWPID : 0;
    }

    /// Sets the pid namespace for children. Called after the process has created all threads and children, because it
    /// couldn't do so afterwards.
    void complete(const model::Task& task) const override {
        const auto number = numberForChildren(task);
        if (!number)
            return;
        if (*number == 0) {
            sys(::unshare(CLONE_NEWPID), "make a pid namespace for children");
            return;
        }
        const kernel::PidFd first(firstBelow(task, *number));
        sys(::setns(first.fd(), CLONE_NEWPID), "have children in pid namespace {}", *number);
    }

private:
    /// Returns the namespace id of the pid namespace for children. Returns 0 if no process has been in this namespace,
    /// and nullopt if the process has none other than its own.
    static std::optional<std::uint32_t> numberForChildren(const model::Task& task) {
        if (!task.ids || (**task.ids).has_pid_for_children_ns_id == 0)
            return std::nullopt;
        return (**task.ids).pid_for_children_ns_id;
    }

    /// Returns the pid of a namespace's first process in the pid namespace of `task`. Returns 0 if the first process
    /// isn't visible there.
    [[nodiscard]] pid_t firstBelow(const model::Task& task, std::uint32_t number) const {
        const model::NestedPids::Space* const space = nested_.find(number);
        const TreePid first = space != nullptr ? model::NestedPids::firstOf(*space) : TreePid();
        return first ? model::NestedPids::numberIn(nested_.of(task.pid), first) : 0;
    }

    const model::NestedPids& nested_;
};

class PidRestore final : public NestedPidRestore {
public:
    using NestedPidRestore::NestedPidRestore;

    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr ? CLONE_NEWPID : NestedPidRestore::birthFlags(task);
    }
};

/// Restore in an external pid namespace, for which the user passes a descriptor.
class GivenPidRestore final : public NestedPidRestore {
public:
    GivenPidRestore(const model::ProcessTree& tree, std::string name) : NestedPidRestore(tree), name_(std::move(name)) {
        // Refuses nested namespaces, because a failed restore kills processes by pid namespace and pid
        // (engine/restore/birth/restored_pids).
        if (!tree.nested().empty())
            fail("a tree that has pid namespaces can't be restored in an external one yet");
    }

    [[nodiscard]] std::size_t descriptors() const override { return 2; }

    void prepare(kernel::FdStore& store, const Inherited& inherited) override {
        const int given = inherited(name_);
        if (given < 0) {
            Error error(0, fmt::format("the tree was in an external pid namespace, {}", name_));
            error.addHint(fmt::format(
                "give the one to restore it in: --inherit-fd fd[N]:{}, N being a descriptor of criu", name_));
            throw error;
        }
        requireNamespace(given, kernel::NamespaceKind::Pid, fmt::format("what --inherit-fd gives for {}", name_));
        given_ = store.inherit(kernel::FdKey::Namespace,
                               UniqueFd(sys(::fcntl(given, F_DUPFD_CLOEXEC, 0), "copy fd {}", given)));
        home_ = store.inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kernel::NamespaceKind::Pid));
    }

    /// Creates the first process in the external pid namespace. The coordinator itself stays outside: setns(2) changes
    /// only its pid namespace for children.
    HostPid createFirstProcess(const std::function<HostPid()>& create) override {
        sys(::setns(given_.get(), CLONE_NEWPID), "have children in the pid namespace {}", name_);
        const ReturnToOwnPidNs home{home_.get()};
        return create();
    }

private:
    struct ReturnToOwnPidNs {
        int home;
        ~ReturnToOwnPidNs() { ::setns(home, CLONE_NEWPID); }  // always permitted for the process' own namespace
    };

    std::string name_;
    UniqueFd given_;
    UniqueFd home_;
};

/// Returns the name of an external pid namespace in the images.
std::optional<std::string> externalName(const RestoreInputs& inputs, std::uint32_t number) {
    if (number == 0 || !inputs.images.exists(ImageKind::Pidns, number))
        return std::nullopt;
    const auto entry = inputs.images.openRequired(ImageKind::Pidns, number).only<PidnsEntry>();
    return entry->ext_key != nullptr ? std::optional<std::string>(entry->ext_key) : std::nullopt;
}

}  // namespace

bool hasOwnPids(const RestoreInputs& inputs) {
    const std::uint32_t number = KindNsIds::ofAny(inputs, kernel::NamespaceKind::Pid).own;
    return number != 0 && !externalName(inputs, number);
}

std::unique_ptr<NamespaceRestore> makePidRestore(const RestoreInputs& inputs) {
    const std::uint32_t number = KindNsIds::ofAny(inputs, kernel::NamespaceKind::Pid).own;
    const bool fresh = getsNewPids(inputs);
    if (number == 0 && !fresh)
        return NestedPidRestore::isNeeded(inputs.tree) ? std::make_unique<NestedPidRestore>(inputs.tree) : nullptr;
    if (inputs.options.newPidNamespace && !fresh)
        inputs.log.debug("--new-pidns changes nothing: the tree has a pid namespace of its own");
    inputs.nsContext.ownPids = true;
    if (const auto name = externalName(inputs, number); name && !fresh) {
        inputs.nsContext.givenPids = *name;
        return std::make_unique<GivenPidRestore>(inputs.tree, *name);
    }
    inputs.nsContext.endsWithFirst = true;
    if (fresh && !rootIsInit(inputs)) {
        if (NestedPidRestore::isNeeded(inputs.tree))
            fail("a tree that has pid namespaces below its own can't be restored with --new-pidns yet");
        return makeNewPidRestore(inputs);
    }
    return std::make_unique<PidRestore>(inputs.tree);
}

}  // namespace criu::namespaces
