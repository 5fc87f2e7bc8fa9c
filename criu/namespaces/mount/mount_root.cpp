// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_root.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/namespaces/mount/outside_mounts.hpp"

namespace criu::namespaces {

const Mount& topmostRoot(const MountTree& tree) {
    const Mount* top = &tree.root();
    for (const Mount& mount : tree.all())
        if (mount.parentId == top->id && mount.mountPoint == "/" && &mount != top)
            top = &mount;
    return *top;
}

RootVisit::RootVisit(int root, const MoveFd& move)
    : root_(move(UniqueFd(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory")))),
      current_(move(UniqueFd(sys(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the current directory")))) {
    sys(::fchdir(root), "enter the root of another mount namespace");
    if (::chroot(".") != 0) {
        const int code = errno;
        back();
        throw Error(code, "make the root of another mount namespace the root");
    }
}

void RootVisit::back() const noexcept {
    if (::fchdir(root_.get()) != 0 || ::chroot(".") != 0 || ::fchdir(current_.get()) != 0)
        ::abort();  // later operations would use wrong paths
}

FirstProcessNsScope::FirstProcessNsScope()
    : space_(kernel::openOwnNamespace(kernel::NamespaceKind::Mount)),
      root_(openRootDirectory()),
      current_(sys(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the current directory")) {}

void FirstProcessNsScope::enter() const {
    sys(::setns(space_.get(), CLONE_NEWNS), "go back to the mount namespace of criu");
    sys(::fchdir(root_.get()), "go back to the root directory");
    sys(::chroot("."), "go back to the root directory");
    sys(::fchdir(current_.get()), "go back to the current directory");
}

void unmountUntil(std::optional<int> top) {
    const auto covering = [] {
        const UniqueFd fd(sys(::open("/..", O_PATH | O_CLOEXEC), "open the topmost mount on the root"));
        return kernel::mountIdOf(fd.get());
    };
    while (covering() != top)
        sys(::umount2(".", MNT_DETACH), "take criu's own mounts off");
    sys(::chdir("/"), "go to the root");
}

void pivotTo(int root) {
    sys(::fchdir(root), "enter the root of the tree");
    sys(static_cast<int>(::syscall(SYS_pivot_root, ".", ".")), "make the root of the tree the root");
}

void enterRoot(const MountTree& tree, int staging, int root, std::optional<int> top) {
    // pivot_root(2) refuses a shared mount, so the mount leaves its peer group. A clone stays in the group, because the
    // kernel would remove an empty group.
    UniqueFd peer;
    if (tree.root().shared != 0 || tree.root().master != 0) {
        constexpr const char* kPlace = "peer";
        peer = kernel::cloneMount(root);
        makeDirectory(staging, kPlace, IfThere::Used);
        kernel::attachMountBelow(peer.get(), staging, kPlace);
        kernel::setPropagation(root, MS_PRIVATE);
    }
    pivotTo(root);
    if (peer)
        kernel::joinPropagation(peer.get(), root);
    // Unmounts the mount staging and the mounts on it. Makes them private first, because otherwise their copies in
    // other namespaces would be unmounted, too.
    kernel::makePrivateBelow(staging);
    unmountUntil(top);
}

}  // namespace criu::namespaces
