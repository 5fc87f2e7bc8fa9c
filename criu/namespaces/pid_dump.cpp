// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/status.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "images/pidns.hpp"

/// Pid namespaces (pid_namespaces(7)).
namespace criu::namespaces {
namespace {

class PidDump final : public NamespaceDump {
public:
    explicit PidDump(const DumpInputs& with) : NamespaceDump(kernel::NamespaceKind::Pid, with) {
        requireSameAsRoot();
        requireSameForChildren(&kernel::NamespaceIds::pidForChildren);
        if (isOwn() && externalName() == nullptr)
            requireWholeNamespace();
    }

    void write(const DumpOutputs& outputs) override {
        const std::string* const name = isOwn() ? externalName() : nullptr;
        if (name == nullptr)
            return;
        std::string key = *name;
        PidnsEntry entry = PIDNS_ENTRY__INIT;
        entry.ext_key = key.data();
        ImageWriter image = outputs.images.create(ImageKind::Pidns, rootNumber());
        image.write(entry);
        image.finish();
    }

private:
    /// What --external pid[INODE]:NAME calls the namespace, in which others live that aren't dumped; null if it doesn't
    /// name it.
    [[nodiscard]] const std::string* externalName() const {
        const std::string inode = fmt::to_string(inputs().tree.root().ids.of(kind()).value_or(0));
        for (const model::External& external : inputs().options.externals)
            if (external.type == model::ExternalType::Pid && external.id == inode && external.value)
                return &*external.value;
        return nullptr;
    }

    void requireSameAsRoot() const {
        const SeenTree& tree = inputs().tree;
        for (const SeenProcess& process : tree.processes) {
            if (process.ids.of(kind()) == tree.root().ids.of(kind()))
                continue;
            Error error(0, fmt::format("{} is in another pid namespace than the root of the tree, {}",
                                       process.describe(), tree.root().describe()));
            if (process.treePid == TreePid(1))
                error.addHint(fmt::format("dump that process, with which the namespace begins: -t {}", process.pid));
            throw error;
        }
    }

    /// A pid namespace is restored as a whole, from its first process on, and ends with that.
    void requireWholeNamespace() const {
        const SeenTree& tree = inputs().tree;
        if (tree.root().treePid != TreePid(1)) {
            Error error(0,
                        fmt::format("the root of the tree is process {} of a pid namespace, whose first process isn't "
                                    "part of the tree",
                                    tree.root().treePid));
            error.addHint(fmt::format("to be restored in a namespace that is given then: --external pid[{}]:NAME",
                                      tree.root().ids.of(kind()).value_or(0)));
            throw error;
        }
        if (inputs().options.finalState == model::FinalState::Running)
            return;
        const kernel::ProcDir proc;
        for (const pid_t pid : proc.processes()) {
            if (tree.pids.contains(HostPid(pid)) || !isInside(proc, pid))
                continue;
            Error error(0, fmt::format("process {} is in the pid namespace of the tree but not part of the tree", pid));
            error.addHint("it was put there from outside (nsenter, exec of a container) and would be lost");
            throw error;
        }
    }

    /// Whether a process would end with the tree's namespace. Of one that criu may not look at only the depth of its
    /// namespace is known, which then decides.
    [[nodiscard]] bool isInside(const kernel::ProcDir& proc, pid_t pid) const {
        try {
            const kernel::ProcPid process = proc.open(pid);
            if (const std::optional<bool> same = isInSame(process))
                return *same;
            kernel::ProcBuffer buffer;
            return kernel::readStatus(process, buffer).nsPid.size() > 1;
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
            return false;  // it has ended meanwhile
        }
    }

    [[nodiscard]] std::optional<bool> isInSame(const kernel::ProcPid& process) const {
        try {
            return kernel::readNamespaceId(process, kernel::NamespaceKind::Pid) ==
                   inputs().tree.root().ids.of(kernel::NamespaceKind::Pid);
        } catch (const Error& error) {
            if (error.code() != EACCES && error.code() != EPERM)
                throw;
            return std::nullopt;
        }
    }
};

}  // namespace

std::unique_ptr<NamespaceDump> makePidDump(const DumpInputs& inputs) {
    return std::make_unique<PidDump>(inputs);
}

}  // namespace criu::namespaces
