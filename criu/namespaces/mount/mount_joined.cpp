// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_joined.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Throws Error if /proc doesn't show the restored processes: they read their own state in /proc.
void requireProc() {
    struct statfs system {};
    if (::statfs("/proc", &system) == 0 && system.f_type == PROC_SUPER_MAGIC && ::access("/proc/self/ns", F_OK) == 0)
        return;
    Error error(0,
                "--join-ns mnt: that mount namespace has no proc file system on /proc that shows the tree's processes");
    error.addHint("mount one there, of the pid namespace in which the tree is restored or of one above it");
    throw error;
}

class JoinedMountRestore final : public NamespaceRestore {
public:
    JoinedMountRestore(const RestoreInputs& inputs, MountHelpers helpers)
        : joined_(inputs.joined), helpers_(std::move(helpers)) {
        inputs.nsContext.ownPaths = true;
        inputs.nsContext.withPathsOf = [](HostPid process, const Work& work) {
            const UniqueFd space = kernel::ProcDir().open(process.value).open("ns/mnt", O_RDONLY);
            kernel::runInMountNamespace(space.get(), work);
        };
    }

    void prepare(kernel::FdStore& store, const Inherited& /*inherited*/) override { store_ = &store; }

    void build() override {
        // setns(2) also changes the root and current directory of the process to the root of the namespace
        joined_.enter(NamespaceKind::Mount);
        requireProc();
        helpers_.makeDeletedFiles({}, {}, *store_);
    }

private:
    const JoinedNamespaces& joined_;
    MountHelpers helpers_;
    kernel::FdStore* store_ = nullptr;  ///< set by prepare()
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeJoinedMountRestore(const RestoreInputs& inputs, MountHelpers helpers) {
    (void)KindNsIds::ofOne(inputs, NamespaceKind::Mount);
    return std::make_unique<JoinedMountRestore>(inputs, std::move(helpers));
}

}  // namespace criu::namespaces
