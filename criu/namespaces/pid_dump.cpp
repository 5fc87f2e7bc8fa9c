// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_dump.hpp"

/// Pid namespaces (pid_namespaces(7)). The dump itself runs inside of the tree's, so its pids are those of the tree.
namespace criu::namespaces {
namespace {

class PidDump final : public NamespaceDump {
public:
    explicit PidDump(const DumpInputs& with) : NamespaceDump(kernel::NamespaceKind::Pid, with) {
        requireOne();
        requireSameForChildren(&kernel::NamespaceIds::pidForChildren);
        if (isOwn())
            requireWholeNamespace();
    }

private:
    /// A pid namespace is restored as a whole, from its first process on, and ends with that.
    void requireWholeNamespace() const {
        const SeenTree& tree = inputs().tree;
        if (tree.root().pid != HostPid(1))
            fail("the root of the tree is process {} of a pid namespace, whose first process isn't part of the tree",
                 tree.root().pid);
        if (inputs().options.finalState == model::FinalState::Running)
            return;
        for (const pid_t pid : kernel::ProcDir().processes()) {
            if (pid == ::getpid() || tree.pids.contains(HostPid(pid)))
                continue;
            Error error(0, fmt::format("process {} is in the pid namespace of the tree but not part of the tree", pid));
            error.addHint("it was put there from outside (nsenter, exec of a container) and would be lost");
            throw error;
        }
    }
};

}  // namespace

std::unique_ptr<NamespaceDump> makePidDump(const DumpInputs& inputs) {
    return std::make_unique<PidDump>(inputs);
}

}  // namespace criu::namespaces
