// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mounts_within.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/namespaces/mount/outside_mounts.hpp"

namespace criu::namespaces {
namespace {

using Fds = std::map<int, UniqueFd>;

/// Opens an external mount that lies on another external mount and has mounts on it.
UniqueFd openInside(const MountTree& tree, const Mount& mount, const std::set<int>& within, const Fds& made) {
    const ErrorContext context([&] { return mount.describe(); });
    const Mount* top = &mount;
    while (!within.contains(top->id))
        top = tree.find(top->parentId);
    const auto below = pathBelow(top->mountPoint, mount.mountPoint);
    if (!below)
        fail("it doesn't lie below {}", top->describe());
    UniqueFd fd = openBelow(made.at(top->id).get(), *below, O_PATH);
    struct stat status {};
    sys(::fstat(fd.get(), &status), "look at it");
    if (kernel::kernelForm(status.st_dev) != mount.device)
        fail("another mount from outside covers it, and something lies on it, which can't be restored yet");
    return fd;
}

Fds makeAll(const MountTree& tree, const std::set<int>& within) {
    const UniqueFd staging = openRootDirectory();
    const auto children = tree.children();
    Fds made;
    for (const Mount& mount : tree.all()) {
        const std::string name = std::to_string(mount.id);
        if (within.contains(mount.id))
            made.emplace(mount.id, mount.externalName ? kernel::cloneMountsBelow(staging.get(), name)
                                                      : kernel::cloneMountBelow(staging.get(), name));
        else if (children.contains(mount.id))
            made.emplace(mount.id, openInside(tree, mount, within, made));
    }
    return made;
}

void attachAll(const MountTree& tree, const std::set<int>& within, const Fds& made) {
    const auto children = tree.children();
    std::vector<const Mount*> parents{&tree.root()};
    while (!parents.empty()) {
        const Mount& parent = *parents.back();
        parents.pop_back();
        const auto all = children.find(parent.id);
        if (all == children.end())
            continue;
        for (const Mount* const child : all->second) {
            parents.push_back(child);
            if (!within.contains(child->id))
                continue;
            const ErrorContext context([&] { return child->describe(); });
            const auto below = pathBelow(parent.mountPoint, child->mountPoint);
            if (!below)
                fail("it doesn't lie below its parent, {}", parent.describe());
            kernel::attachMountBelow(made.at(child->id).get(), made.at(parent.id).get(), *below);
        }
    }
}

/// Creates the mount namespace. Runs in a process that has entered the user namespace.
Fds assemble(const MountTree& tree, const std::set<int>& within, const UniqueFd& proc) {
    sys(::unshare(CLONE_NEWNS), "create a mount namespace that belongs to a user namespace");
    const Fds made = makeAll(tree, within);
    const UniqueFd& root = made.at(tree.root().id);
    kernel::attachMountBelow(root.get(), openRootDirectory().get(), kPlaceWithin);
    attachAll(tree, within, made);
    if (proc)
        kernel::attachMountBelow(proc.get(), root.get(), "proc");
    sys(::fchdir(root.get()), "enter the root of the namespace");
    sys(static_cast<int>(::syscall(SYS_pivot_root, ".", ".")), "make it the root");
    sys(::umount2(".", MNT_DETACH), "take off the mounts that it was made from");
    sys(::chdir("/"), "go to the root");
    Fds opened;
    opened.emplace(0, kernel::openOwnNamespace(kernel::NamespaceKind::Mount));
    opened.emplace(1, openRootDirectory());
    return opened;
}

}  // namespace

std::set<int> mountsToAttachInUserns(const MountTree& tree) {
    std::set<int> within;
    for (const Mount& mount : tree.all()) {
        const Mount* const parent = tree.isRoot(mount) ? nullptr : tree.find(mount.parentId);
        if (parent == nullptr || !mount.externalName || !parent->externalName)
            within.insert(mount.id);
    }
    return within;
}

UsernsMounts attachInUserns(const UniqueFd& owner, const MountTree& tree, const std::set<int>& within,
                            const UniqueFd& proc) {
    const int spaces[] = {owner.get()};
    std::vector<int> needed;
    if (proc)
        needed.push_back(proc.get());
    Fds made = kernel::openInNamespaces(spaces, needed, [&] { return assemble(tree, within, proc); });
    return {std::move(made.at(0)), std::move(made.at(1))};
}

}  // namespace criu::namespaces
