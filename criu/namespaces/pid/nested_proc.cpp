// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/pid/nested_proc.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/mount/outside_mounts.hpp"
#include "criu/namespaces/ns_ids.hpp"

namespace criu::namespaces {
namespace {

std::string relative(const std::string& path) {
    return path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

/// Returns true if criu must replace a proc mount by itself. It needn't if the mount on which it lies is also replaced.
bool isOutermost(const MountTree& tree, const Mount& mount) {
    const Mount* const parent = tree.find(mount.parentId);
    return mount.pidsOf && (parent == nullptr || !parent->pidsOf);
}

void requireExchangeableIn(const MountTree& tree, const std::set<std::pair<std::uint32_t, int>>& groups) {
    const MountPaths paths(tree);
    for (const Mount& mount : tree.all()) {
        const Mount* const parent = tree.find(mount.parentId);
        const bool onProc = parent != nullptr && parent->pidsOf && !tree.isRoot(mount);
        if (!mount.pidsOf && !onProc)
            continue;
        const ErrorContext context([&] { return mount.describe(); });
        const Mount& proc = mount.pidsOf ? mount : *parent;
        const auto refuse = [&](std::string_view what) {
            fail(
                "it {} a proc file system of a pid namespace below that of the root of the tree, {}, which can't be "
                "restored yet",
                &proc == &mount ? "is" : "is mounted on", what);
        };
        if (tree.isRoot(mount))
            refuse("and the root of its mount namespace");
        if (!paths.isReachable(mount))
            refuse("and is covered by another mount");
        if (mount.pidsOf && isOfProcess(mount.root))
            refuse("and a part of it that belongs to a process");
        if (onProc && isOfProcess(*pathBelow(parent->mountPoint, mount.mountPoint)))
            refuse("at a place that belongs to a process");
        if (mount.pidsOf && mount.master != 0 && !groups.contains({mount.device, mount.master}))
            refuse("and gets events from a mount that isn't there");
        if (isOutermost(tree, mount) && parent != nullptr && parent->shared != 0 && !paths.isReachable(*parent))
            refuse("and lies on a covered mount that shares events with others");
    }
}

/// Scope in which a mount is private, so that changes of the mount don't reach its peers.
class PropagationOffScope {
public:
    explicit PropagationOffScope(UniqueFd mount) : mount_(std::move(mount)), peer_(kernel::cloneMount(mount_.get())) {
        kernel::setPropagation(mount_.get(), MS_PRIVATE);
    }
    /// Makes the mount join its peer group again. The kernel has kept the group, because the clone `peer_` stayed in
    /// it.
    void end() const { kernel::joinPropagation(peer_.get(), mount_.get()); }

private:
    UniqueFd mount_;
    UniqueFd peer_;
};

/// Makes the root mount private, and each shared mount on which criu replaces a mount.
std::vector<PropagationOffScope> turnPropagationOff(const MountTree& tree, int root) {
    std::set<const Mount*> all;
    for (const Mount& mount : tree.all())
        if (isOutermost(tree, mount))
            all.insert({tree.find(mount.parentId), &tree.root()});
    std::vector<PropagationOffScope> quiet;
    for (const Mount* const mount : all)
        if (mount != nullptr && mount->shared != 0)
            quiet.emplace_back(openBelow(root, relative(mount->mountPoint), O_PATH));
    return quiet;
}

/// Unmounts the mount at a path below `root`.
void takeOff(int root, const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    sys(::fchdir(openBelow(root, parent, O_PATH | O_DIRECTORY).get()), "enter the directory of a mount");
    sys(::umount2(name.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW), "take a mount off {}", path);
}

void takeOffDirectory(int directory) {
    sys(::fchdir(directory), "enter a mount");
    sys(::umount2(".", MNT_DETACH), "take off a mount of criu");
}

bool isDirectory(int fd) {
    struct stat stat {};
    sys(::fstat(fd, &stat), "stat a mount");
    return S_ISDIR(stat.st_mode);
}

/// Translates the option gid= to an outer id, because the kernel expects an id of the mounting process. Removes
/// `seclabel`.
std::string outerOptions(std::string_view options, const model::IdMap& ids) {
    std::string out;
    while (!options.empty()) {
        const std::size_t end = std::min(options.find(','), options.size());
        std::string option(options.substr(0, end));
        options.remove_prefix(std::min(end + 1, options.size()));
        if (option == "seclabel")
            continue;
        if (option.starts_with("gid=") && ids.isOwnNamespace())
            option =
                fmt::format("gid={}", ids.outerGid(kernel::parseLoneNumber<std::uint32_t>(option.substr(4), "gid")));
        out += out.empty() ? option : ',' + option;
    }
    return out;
}

}  // namespace

bool isOfProcess(std::string_view path) {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    return !path.empty() && path.front() >= '0' && path.front() <= '9';
}

void requireExchangeable(std::span<const MountTree* const> trees) {
    std::set<std::pair<std::uint32_t, int>> groups;
    for (const MountTree* const tree : trees)
        for (const Mount& mount : tree->all())
            if (mount.pidsOf && mount.shared != 0)
                groups.emplace(mount.device, mount.shared);
    for (const MountTree* const tree : trees)
        requireExchangeableIn(*tree, groups);
}

NestedProcs::NestedProcs(const MountImages& mounts, const model::NestedPids& nested) : mounts_(mounts) {
    std::vector<const MountTree*> trees;
    for (const MountImages::Space& space : mounts_.spaces())
        trees.push_back(&space.mounts);
    requireExchangeable(trees);
    for (const Mount* const mount : mounts_.all())
        if (mount->pidsOf && mount->isWhole())
            systems_.emplace(mount->device, mount);
    for (const Mount* const mount : mounts_.all()) {
        if (!mount->pidsOf)
            continue;
        const auto system = systems_.find(mount->device);
        if (mount->kind.code != FSTYPE__PROC || mount->externalName || system == systems_.end() ||
            system->second->pidsOf != mount->pidsOf || !nested.isFirst(mount->pidsOf))
            fail("{} can't show the pid namespace of process {}", mount->describe(), mount->pidsOf);
    }
}

void NestedProcs::exchange(std::span<const ParkedProcess> processes, const model::IdMap& ids) {
    if (systems_.empty())
        return;
    makeSystems(processes, ids);
    std::vector<std::pair<const MountTree*, UniqueFd>> spaces;
    for (const MountImages::Space& space : mounts_.spaces()) {
        const auto& all = space.mounts.all();
        if (std::none_of(all.begin(), all.end(), [](const Mount& mount) { return bool(mount.pidsOf); }))
            continue;
        const auto there = std::find_if(processes.begin(), processes.end(), [&](const ParkedProcess& process) {
            return process.task.ids && numberOf(**process.task.ids, kernel::NamespaceKind::Mount) == space.number;
        });
        if (there == processes.end())
            fail("no process is in mount namespace {}", space.number);
        spaces.emplace_back(&space.mounts, kernel::ProcDir().open(there->pid.value).open("ns/mnt", O_RDONLY));
    }
    for (const auto& [tree, space] : spaces)
        kernel::runInMountNamespace(space.get(), [this, at = tree] { exchangeIn(*at); });
    // Repeats until a pass adds no mount. A mount must get its master before other mounts can join its peer group, and
    // the master may be in another namespace.
    for (std::size_t before = shared_.size() + 1; before != shared_.size();) {
        before = shared_.size();
        for (const auto& [tree, space] : spaces)
            kernel::runInMountNamespace(space.get(), [this, at = tree] { share(*at); });
    }
    if (shared_.size() != fds_.size())
        fail("{} proc file systems have masters that follow each other", fds_.size() - shared_.size());
    fds_.clear();
}

/// Mounts the proc file systems. Runs in criu's mount namespace, in which the kernel permits a proc mount.
void NestedProcs::makeSystems(std::span<const ParkedProcess> processes, const model::IdMap& ids) {
    for (const auto& [device, mount] : systems_) {
        const ErrorContext context([whole = mount] { return whole->describe(); });
        const auto first = std::find_if(processes.begin(), processes.end(), [whole = mount](const auto& process) {
            return process.task.pid == whole->pidsOf;
        });
        if (first == processes.end())
            fail("the first process of its pid namespace, {}, isn't alive", mount->pidsOf);
        const UniqueFd space = kernel::ProcDir().open(first->pid.value).open("ns/pid", O_RDONLY);
        const int spaces[] = {space.get()};
        const kernel::FileSystemParts parts{
            mount->fsType, mount->source, outerOptions(mount->options, ids), mount->superFlags, {}};
        auto made = kernel::openInNamespaces(spaces, {}, [&] {
            std::map<int, UniqueFd> one;
            one.emplace(0, kernel::mountFileSystem(parts));
            return one;
        });
        made_.emplace(device, std::move(made.at(0)));
    }
}

/// Clones the new mounts from the new file systems. Clones them here, because before Linux 6.15 the kernel clones only
/// mounts of the caller's namespace (__do_loopback() in fs/namespace.c).
void NestedProcs::makeMounts(int staging) {
    for (const auto& [device, whole] : made_) {
        const std::string name = fmt::format("system-{}", device);
        makeDirectory(staging, name, IfThere::Refused);
        kernel::attachMountBelow(whole.get(), staging, name);
        for (const Mount* const mount : mounts_.all())
            if (mount->pidsOf && mount->device == device)
                fds_.emplace(mount->id, kernel::cloneMountBelow(whole.get(), relative(mount->root)));
    }
    made_.clear();
}

/// Replaces the proc mounts of a mount namespace. The calling thread is in this namespace, and its root directory is
/// that of the namespace.
void NestedProcs::exchangeIn(const MountTree& tree) {
    const UniqueFd root = openRootDirectory();
    const std::vector<PropagationOffScope> quiet = turnPropagationOff(tree, root.get());
    // The mount staging covers the root. Paths that begin at the descriptor `root` lead to the mounts below the
    // staging.
    const UniqueFd staging = kernel::mountFileSystem({"tmpfs", "criu", "mode=700", 0, {}});
    kernel::attachMount(staging.get(), root.get());
    makeMounts(staging.get());
    for (const Mount& mount : tree.all())
        if (isOutermost(tree, mount)) {
            const ErrorContext context([&] { return mount.describe(); });
            exchangeOne(tree, mount, root.get(), staging.get());
        }
    takeOffDirectory(staging.get());
    for (const PropagationOffScope& mount : quiet)
        mount.end();
}

/// Replaces one mount. move_mount(2) accepts only an attached mount as the target. So the new mount is attached in the
/// mount staging until its final mount point is free.
void NestedProcs::exchangeOne(const MountTree& tree, const Mount& mount, int root, int staging) {
    const std::string path = relative(mount.mountPoint);
    const int fresh = fds_.at(mount.id).get();
    const std::string name = std::to_string(mount.id);
    if (isDirectory(fresh))
        makeDirectory(staging, name, IfThere::Refused);
    else
        (void)createReplacing(staging, name, O_WRONLY, 0600);
    kernel::attachMountBelow(fresh, staging, name);
    takeOver(tree, mount, openBelow(root, path, O_PATH).get());
    takeOff(root, path);
    kernel::attachMountBelow(fresh, root, path);
}

/// Moves the mounts on `from` to the new mount. `old`: descriptor of `from`.
void NestedProcs::takeOver(const MountTree& tree, const Mount& from, int old) {
    const int fresh = fds_.at(from.id).get();
    // The kernel doesn't move a mount that lies on a shared mount (do_move_mount() in fs/namespace.c).
    kernel::setPropagation(old, MS_PRIVATE);
    for (const Mount& child : tree.all()) {
        if (child.parentId != from.id || &child == &from)
            continue;
        const ErrorContext context([&] { return child.describe(); });
        const std::string place = *pathBelow(from.mountPoint, child.mountPoint);
        const UniqueFd there = openBelow(old, place, O_PATH);
        if (child.pidsOf) {
            kernel::attachMountBelow(fds_.at(child.id).get(), fresh, place);
            takeOver(tree, child, there.get());
        } else {
            kernel::attachMountBelow(there.get(), fresh, place);
        }
    }
    kernel::setMountFlags(fresh, from.flags);
}

/// Restores peer groups and masters. Handles only mounts whose masters are already restored.
void NestedProcs::share(const MountTree& tree) {
    std::vector<const Mount*> mounts;
    for (const Mount& mount : tree.all())
        if (mount.pidsOf && !shared_.contains(mount.id))
            mounts.push_back(&mount);
    // Handles mounts with shorter roots first. The kernel lets a mount join a peer group only if the root of the other
    // mount contains the root of this mount (do_set_group() in fs/namespace.c).
    std::stable_sort(mounts.begin(), mounts.end(),
                     [](const Mount* one, const Mount* other) { return one->root.size() < other->root.size(); });
    for (const Mount* const mount : mounts) {
        const ErrorContext context([&] { return mount->describe(); });
        const int fd = fds_.at(mount->id).get();
        const auto leader = [&](int group) { return fds_.at(leaders_.at(group)).get(); };
        if (mount->shared != 0 && leaders_.contains(mount->shared)) {
            kernel::joinPropagation(leader(mount->shared), fd);
        } else {
            if (mount->master != 0 && !leaders_.contains(mount->master))
                continue;
            if (mount->master != 0) {
                kernel::joinPropagation(leader(mount->master), fd);
                kernel::setPropagation(fd, MS_SLAVE);
            }
            if (mount->shared != 0) {
                kernel::setPropagation(fd, MS_SHARED);
                leaders_.emplace(mount->shared, mount->id);
            }
        }
        if (mount->unbindable)
            kernel::setPropagation(fd, MS_UNBINDABLE);
        shared_.insert(mount->id);
    }
}

}  // namespace criu::namespaces
