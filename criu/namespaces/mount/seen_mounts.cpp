// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/seen_mounts.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

constexpr const char* kTerminalsPlace = "/dev/pts";

/// Reads the mounts of the calling thread's namespace. `proc`: /proc, opened before the thread entered the namespace.
kernel::MountTable mountsHere(const kernel::ProcDir& proc) {
    return kernel::MountTable(kernel::parseMountInfo(proc.readFile("thread-self/mountinfo")));
}

/// Clones the mount at a path. The path is from mountinfo, and so contains no symbolic links; it begins at the calling
/// thread's root directory.
UniqueFd cloneAt(std::string_view path) {
    const UniqueFd root(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"));
    return kernel::cloneMountBelow(root.get(), pathBelow("/", path).value());
}

/// Clones a reachable mount without the mounts that lie on it.
UniqueFd cloneOf(const Mount& mount) {
    const ErrorContext context([&] { return mount.describe(); });
    try {
        return cloneAt(mount.mountPoint);
    } catch (const Error& error) {
        if (error.code() != EINVAL)
            throw;
        // has_locked_children() in fs/namespace.c of Linux
        Error refused(
            0,
            "it came from outside together with the mounts on it, and for the user namespace that it is in the "
            "kernel has locked these together, so its files can't be dumped");
        refused.addHint("take mounts of the outside as they are there: --external mnt[], at the restore too");
        throw refused;
    }
}

/// Copy of a mount namespace. In the copy, criu can unmount a mount to reach the mount that it covers.
class Copy {
public:
    explicit Copy(const kernel::ProcDir& proc, const MountTree& original) : proc_(proc) {
        sys(::unshare(CLONE_NEWNS), "copy the mount namespace");
        sys(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "separate the copy of a mount namespace");
        match(original, look());
    }

    /// Clones the wanted mounts without the mounts that lie on them. Omits a mount if a locked mount covers it.
    std::map<int, UniqueFd> open(std::set<int> wanted) {
        std::map<int, UniqueFd> opened;
        for (;;) {
            const MountTree now = look();
            const MountPaths paths(now);
            std::set<int> covering;
            for (const Mount& mount : now.all()) {
                const auto original = originals_.find(mount.id);
                if (original == originals_.end() || !wanted.contains(original->second))
                    continue;
                const Mount& seen = paths.lookUp(mount.mountPoint);
                if (&seen != &mount) {
                    covering.insert(seen.id);
                    continue;
                }
                opened[original->second] = cloneOf(mount);
                wanted.erase(original->second);
            }
            if (wanted.empty() || !takeOff(now, paths, std::move(covering)))
                return opened;
        }
    }

private:
    MountTree look() const { return MountTree::fromKernel(mountsHere(proc_), {}); }

    /// Unmounts the mounts `covering` and all mounts that lie on them, as far as paths lead to these mounts. Afterwards
    /// the caller must search again. Returns false if nothing was unmounted.
    static bool takeOff(const MountTree& now, const MountPaths& paths, std::set<int> covering) {
        std::map<int, unsigned> children;
        for (const Mount& mount : now.all()) {
            if (now.isRoot(mount))
                continue;
            ++children[mount.parentId];
            if (covering.contains(mount.parentId))
                covering.insert(mount.id);
        }
        bool any = false;
        for (auto at = now.all().rbegin(); at != now.all().rend(); ++at) {
            const Mount& mount = *at;
            if (now.isRoot(mount) || !covering.contains(mount.id) || children[mount.id] != 0 ||
                !paths.isReachable(mount))
                continue;
            if (::umount2(mount.mountPoint.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
                if (errno != EINVAL)
                    failErrno("take off the mount {}", mount.mountPoint);
                continue;  // the mount is locked (can_umount() in fs/namespace.c)
            }
            --children[mount.parentId];
            any = true;
        }
        return any;
    }

    /// Finds the original of each mount in the copy: it has the same mount point and device.
    void match(const MountTree& original, const MountTree& copy) {
        std::map<std::tuple<int, std::string, std::uint32_t>, int> places;
        for (const Mount& mount : copy.all())
            if (!copy.isRoot(mount))
                places.try_emplace({mount.parentId, mount.mountPoint, mount.device}, mount.id);
        std::map<int, int> twins{{original.root().id, copy.root().id}};
        originals_[copy.root().id] = original.root().id;
        for (const Mount& mount : original.all()) {
            const auto parent = twins.find(mount.parentId);
            if (original.isRoot(mount) || parent == twins.end())
                continue;
            const auto twin = places.find({parent->second, mount.mountPoint, mount.device});
            if (twin == places.end())
                continue;
            twins[mount.id] = twin->second;
            originals_[twin->second] = mount.id;
        }
    }

    const kernel::ProcDir& proc_;
    std::map<int, int> originals_;
};

/// Throws Error for deeply stacked mounts. criu uncovers mounts by unmounting one after another, which may take long: a
/// user with a user namespace may stack fs.mount-max mounts (100000 by default). Ordinary trees are far below this
/// limit.
void requireDepth(const MountTree& mounts) {
    constexpr unsigned kMostOnEachOther = 128;
    std::map<int, unsigned> depths;
    for (const Mount& mount : mounts.all()) {
        const auto parent = depths.find(mount.parentId);
        const unsigned depth = parent == depths.end() ? 0 : parent->second + 1;
        if (depth > kMostOnEachOther)
            fail("mounts are on each other more than {} levels deep, at {}", kMostOnEachOther, mount.mountPoint);
        depths.emplace(mount.id, depth);
    }
}

/// Opens the cgroup namespace of a process. Returns an invalid descriptor if criu is in it: root of a user namespace
/// may not enter the cgroup namespace of the host again (setns(2)).
UniqueFd otherCgroupNamespace(const kernel::ProcPid& process) {
    UniqueFd space = process.open("ns/cgroup", O_RDONLY);
    struct stat its {};
    struct stat own {};
    sys(::fstat(space.get(), &its), "look at the cgroup namespace of the tree");
    sys(::fstat(kernel::openOwnNamespace(kernel::NamespaceKind::Cgroup).get(), &own),
        "look at criu's cgroup namespace");
    return its.st_ino == own.st_ino && its.st_dev == own.st_dev ? UniqueFd() : std::move(space);
}

void enterCgroupNamespace(const UniqueFd& space) {
    if (space)
        sys(::setns(space.get(), CLONE_NEWCGROUP), "enter the cgroup namespace of the tree");
}

}  // namespace

std::set<int> SeenMountSpace::takeOut(const std::set<int>& unwanted) {
    std::set<int> out;
    if (!unwanted.empty())
        out = mounts.takeOut([&](const Mount& mount) { return unwanted.contains(mount.id); });
    if (out.empty())
        return out;
    std::vector<kernel::MountInfo> left;
    for (const kernel::MountInfo& mount : table.all())
        if (!out.contains(mount.id))
            left.push_back(mount);
    table = kernel::MountTable(std::move(left));
    return out;
}

SeenMounts::SeenMounts(const model::Options& options, FirstProcess first, std::span<const SeenNamespace> seen,
                       const SeenTree& tree, Log& log)
    : first_(first), cgroups_(otherCgroupNamespace(tree.root().dir)) {
    for (const SeenNamespace& one : seen)
        spaces_.push_back(look(one, options));
    if (!withCriu())
        for (SeenMountSpace& space : spaces_)
            takeOutLocked(space, log);
}

/// Reads the mounts of a namespace as seen from the root of this namespace, because the root directory of the process
/// may hide mounts. The thread enters the cgroup namespace of the tree's root, in which cgroup mounts begin at "/". A
/// restore creates all mount namespaces in this cgroup namespace.
SeenMountSpace SeenMounts::look(const SeenNamespace& seen, const model::Options& options) const {
    SeenMountSpace space;
    space.number = seen.number;
    space.fd = seen.process->open("ns/mnt", O_RDONLY);
    const kernel::ProcDir proc;
    std::optional<kernel::MountTable> table;
    kernel::runInMountNamespace(space.fd.get(), [&] {
        space.root.reset(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root of the mount namespace"));
        enterCgroupNamespace(cgroups_);
        table.emplace(mountsHere(proc));
    });
    space.table = std::move(*table);
    space.mounts = MountTree::fromKernel(space.table, options.enabledFilesystems);
    requireDepth(space.mounts);
    space.mounts.remove([&](const Mount& mount) {
        return std::find(options.skipMounts.begin(), options.skipMounts.end(), mount.mountPoint) !=
               options.skipMounts.end();
    });
    struct stat terminals {};
    const bool known = ::stat(kTerminalsPlace, &terminals) == 0;
    for (Mount& mount : space.mounts.all())
        if (mount.kind.code == FSTYPE__DEVPTS && (!known || kernel::kernelForm(terminals.st_dev) != mount.device))
            mount.options += fmt::format("{}{}", mount.options.empty() ? "" : ",", kNewInstance);
    return space;
}

std::vector<Mount*> SeenMounts::all() {
    std::vector<Mount*> mounts;
    for (SeenMountSpace& space : spaces_)
        for (Mount& mount : space.mounts.all())
            mounts.push_back(&mount);
    return mounts;
}

std::map<int, UniqueFd> SeenMounts::openAll(const std::set<int>& wanted) const {
    std::map<int, UniqueFd> opened;
    for (const SeenMountSpace& space : spaces_) {
        std::set<int> here;
        for (const Mount& mount : space.mounts.all())
            if (wanted.contains(mount.id))
                here.insert(mount.id);
        if (!here.empty())
            opened.merge(openIn(space, here));
        for (const int id : here)
            if (!opened.contains(id))
                fail("{} is covered by a mount that can't be taken off", space.mounts.find(id)->describe());
    }
    return opened;
}

std::map<int, UniqueFd> SeenMounts::openIn(const SeenMountSpace& space, std::set<int> hidden) {
    std::map<int, UniqueFd> opened;
    const kernel::ProcDir proc;
    kernel::runInMountNamespace(space.fd.get(), [&] {
        // Includes mounts of --skip-mnt, because they may cover other mounts.
        const MountTree all = MountTree::fromKernel(mountsHere(proc), {});
        const MountPaths paths(all);
        for (const Mount& mount : all.all())
            if (hidden.contains(mount.id) && paths.isReachable(mount) && !mount.unbindable) {
                opened[mount.id] = cloneOf(mount);
                hidden.erase(mount.id);
            }
    });
    if (hidden.empty())
        return opened;
    const auto uncover = [&] {
        const MountTree all = MountTree::fromKernel(mountsHere(proc), {});
        return Copy(proc, all).open(hidden);
    };
    // A process in the user namespace that owns the original makes the copy. If the copying process were in another
    // one, the kernel would lock all mounts of the copy.
    if (const UniqueFd owner = kernel::foreignOwnerUserns(space.fd.get()); owner) {
        const int spaces[] = {owner.get(), space.fd.get()};
        const int needed[] = {proc.fd()};
        opened.merge(kernel::openInNamespaces(spaces, needed, uncover));
    } else {
        kernel::runInMountNamespace(space.fd.get(), [&] { opened.merge(uncover()); });
    }
    return opened;
}

kernel::MountTable SeenMounts::criusMounts() const {
    const kernel::ProcDir proc;
    std::optional<kernel::MountTable> table;
    kernel::runInThread([&] {
        enterCgroupNamespace(cgroups_);
        table.emplace(mountsHere(proc));
    });
    return std::move(*table);
}

/// Removes mounts that locked mounts cover, because the tree can't uncover such mounts. The kernel locks all mounts of
/// a copy when another user namespace makes it (lock_mnt_tree() in fs/namespace.c).
void SeenMounts::takeOutLocked(SeenMountSpace& space, Log& log) {
    std::set<int> hidden;
    {
        const MountPaths paths(space.mounts);
        for (const Mount& mount : space.mounts.all())
            if (!paths.isReachable(mount))
                hidden.insert(mount.id);
    }
    if (hidden.empty() || !kernel::foreignOwnerUserns(space.fd.get()))
        return;
    for (const auto& [id, mount] : openIn(space, hidden))
        hidden.erase(id);
    if (const std::set<int> out = space.takeOut(hidden); !out.empty())
        log.info("Mount namespace {}: {} mounts that locked mounts cover aren't dumped", space.number, out.size());
}

}  // namespace criu::namespaces
