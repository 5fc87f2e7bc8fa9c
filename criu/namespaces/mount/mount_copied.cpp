// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_copied.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "criu/base/error.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/pid/new_pid_namespace.hpp"

namespace criu::namespaces {
namespace {

class CopiedMountRestore final : public NamespaceRestore {
public:
    CopiedMountRestore(const RestoreInputs& inputs, MountHelpers helpers)
        : helpers_(std::move(helpers)), byRoot_(rootIsInit(inputs)) {
        // the copy is one namespace; of() throws Error if processes were in several mount namespaces
        (void)KindNsIds::of(inputs, kernel::NamespaceKind::Mount);
        inputs.nsContext.ownPaths = true;
        inputs.nsContext.sameFiles = true;
        inputs.nsContext.withPathsOf = [](HostPid process, const Work& work) {
            const UniqueFd space = kernel::ProcDir().open(process.value).open("ns/mnt", O_RDONLY);
            kernel::runInMountNamespace(space.get(), work);
        };
    }

    void prepare(kernel::FdStore& store, const Inherited& /*inherited*/) override { store_ = &store; }

    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr && byRoot_ ? CLONE_NEWNS : 0;
    }

    void begin() override {
        if (byRoot_)
            mountOwnProc();
    }

    void build() override { helpers_.makeDeletedFiles({}, {}, *store_); }

private:
    MountHelpers helpers_;
    /// True if the root is the first process of its pid namespace, so that criu creates no namespace init.
    bool byRoot_;
    kernel::FdStore* store_ = nullptr;  ///< set by prepare()
};

}  // namespace

bool copiesMounts(const RestoreInputs& inputs) {
    return getsNewPids(inputs) && !inputs.joined.has(kernel::NamespaceKind::Mount) &&
           KindNsIds::ofAny(inputs, kernel::NamespaceKind::Mount).own == 0;
}

/// Mounts a new proc file system, which shows the pid namespace of the calling process.
void mountOwnProc() {
    sys(::mount(nullptr, "/", nullptr, MS_SLAVE | MS_REC, nullptr), "keep mounts to the tree");
    sys(::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr),
        "mount /proc of the new pid namespace");
}

std::unique_ptr<NamespaceRestore> makeCopiedMountRestore(const RestoreInputs& inputs, MountHelpers helpers) {
    return std::make_unique<CopiedMountRestore>(inputs, std::move(helpers));
}

}  // namespace criu::namespaces
