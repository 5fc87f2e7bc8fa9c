// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_dump.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "criu/base/error.hpp"
#include "criu/base/nanoseconds.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/namespaces/mount/file_contents.hpp"
#include "criu/namespaces/mount/mount_deleted.hpp"
#include "criu/namespaces/mount/outside_mounts.hpp"
#include "criu/namespaces/mount/overlay.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

using model::External;
using model::ExternalType;

constexpr const char* kTerminalsPlace = "/dev/pts";

/// Reads the mounts of the calling thread's namespace through a /proc that was opened before the thread entered it.
kernel::MountTable mountsHere(const kernel::ProcDir& proc) {
    return kernel::MountTable(kernel::parseMountInfo(proc.readFile("thread-self/mountinfo")));
}

kernel::MountTable mountsOf(const kernel::ProcPid& task) {
    kernel::ProcBuffer buffer;
    return kernel::readMountInfo(task, buffer);
}

/// Reads criu's mounts from the tree's cgroup namespace. The kernel shows the root of a cgroup mount relative to the
/// reader's cgroup namespace, so only tables read in the same one are comparable.
kernel::MountTable mountsSeenFrom(int cgroups) {
    const kernel::ProcDir proc;
    std::optional<kernel::MountTable> table;
    kernel::runInThread([&] {
        sys(::setns(cgroups, CLONE_NEWCGROUP), "enter the cgroup namespace of the tree");
        table.emplace(mountsHere(proc));
    });
    return std::move(*table);
}

/// True if a path relative to a cgroup namespace's root, or to another directory, begins with "..".
bool startsWithParent(std::string_view path) {
    path.remove_prefix(path.starts_with('/') ? 1 : 0);
    return path == ".." || path.starts_with("../");
}

/// Clones the mount at a path from mountinfo, which contains no symbolic links. The path starts at the calling thread's
/// root.
UniqueFd cloneAt(std::string_view path) {
    const UniqueFd root(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"));
    return kernel::cloneMountBelow(root.get(), pathBelow("/", path).value());
}

/// Clones a reachable mount without the mounts on it.
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

/// A copy of a mount namespace. Its mounts can be unmounted, to reach the mounts that they cover.
class Copy {
public:
    explicit Copy(const kernel::ProcDir& proc, const MountTree& original) : proc_(proc) {
        sys(::unshare(CLONE_NEWNS), "copy the mount namespace");
        sys(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "separate the copy of a mount namespace");
        match(original, look());
    }

    /// Clones the wanted mounts without the mounts on them. The result lacks mounts that locked mounts cover.
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

    /// Unmounts the `covering` mounts and all mounts on them, as far as paths lead to them. The caller then searches
    /// for uncovered mounts again. Returns false if nothing was unmounted.
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
                continue;  // locked (can_umount() in fs/namespace.c)
            }
            --children[mount.parentId];
            any = true;
        }
        return any;
    }

    /// Pairs the mounts of the copy with the originals, which have equal mount points.
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

/// Refuses deeply stacked mounts. criu uncovers mounts by unmounting one after another, and a user with a user
/// namespace may stack fs.mount-max mounts (100000 by default). Real trees are far below this limit.
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

}  // namespace

MountDump::MountDump(const model::Options& options, FirstProcess first, std::span<const SeenNamespace> seen,
                     const SeenTree& tree, Log& log, const Plugins& plugins)
    : options_(options),
      first_(first),
      externals_(options),
      log_(log),
      automounts_(tree),
      cgroups_(tree.root().dir.open("ns/cgroup", O_RDONLY)) {
    for (const SeenNamespace& one : seen)
        spaces_.push_back(look(one));
    if (first_ == FirstProcess::InItsOwn)
        for (Space& space : spaces_)
            takeOutLocked(space);
    markExternal(plugins);
    check(plugins);
}

/// Reads the mounts from the root of the namespace, which the process' root may hide. The thread enters the cgroup
/// namespace of the tree's root, where cgroup mounts begin at "/". A restore creates all mount namespaces in that
/// cgroup namespace.
MountDump::Space MountDump::look(const SeenNamespace& seen) const {
    Space space;
    space.number = seen.number;
    space.fd = seen.process->open("ns/mnt", O_RDONLY);
    const kernel::ProcDir proc;
    std::optional<kernel::MountTable> table;
    kernel::runInMountNamespace(space.fd.get(), [&] {
        space.root.reset(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root of the mount namespace"));
        sys(::setns(cgroups_.get(), CLONE_NEWCGROUP), "enter the cgroup namespace of the tree");
        table.emplace(mountsHere(proc));
    });
    space.table = std::move(*table);
    space.mounts = MountTree::fromKernel(space.table, options_.enabledFilesystems);
    requireDepth(space.mounts);
    space.mounts.remove([&](const Mount& mount) {
        return std::find(options_.skipMounts.begin(), options_.skipMounts.end(), mount.mountPoint) !=
               options_.skipMounts.end();
    });
    struct stat terminals {};
    const bool known = ::stat(kTerminalsPlace, &terminals) == 0;
    for (Mount& mount : space.mounts.all())
        if (mount.kind.code == FSTYPE__DEVPTS && (!known || kernel::kernelForm(terminals.st_dev) != mount.device))
            mount.options += fmt::format("{}{}", mount.options.empty() ? "" : ",", kNewInstance);
    return space;
}

std::vector<Mount*> MountDump::all() {
    std::vector<Mount*> mounts;
    for (Space& space : spaces_)
        for (Mount& mount : space.mounts.all())
            mounts.push_back(&mount);
    return mounts;
}

/// Clones the mounts with these ids.
std::map<int, UniqueFd> MountDump::openAll(const std::set<int>& wanted) const {
    std::map<int, UniqueFd> opened;
    for (const Space& space : spaces_) {
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

std::map<int, UniqueFd> MountDump::openIn(const Space& space, std::set<int> hidden) {
    std::map<int, UniqueFd> opened;
    const kernel::ProcDir proc;
    kernel::runInMountNamespace(space.fd.get(), [&] {
        // Includes mounts of --skip-mnt, since they cover others, too.
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
    // The kernel locks all mounts of a copy that another user namespace than the original's owns. So the copy is made
    // in the owner.
    if (const UniqueFd owner = kernel::foreignOwnerUserns(space.fd.get()); owner) {
        const int spaces[] = {owner.get(), space.fd.get()};
        const int needed[] = {proc.fd()};
        opened.merge(kernel::openInNamespaces(spaces, needed, uncover));
    } else {
        kernel::runInMountNamespace(space.fd.get(), [&] { opened.merge(uncover()); });
    }
    return opened;
}

files::TreeRoot MountDump::treeRoot() const {
    std::vector<files::TreeRoot::Space> roots;
    if (first_ == FirstProcess::WithCriu)
        roots.push_back({openRootDirectory(), mountsOf(kernel::ProcDir().self())});
    std::set<int> wanted;
    files::TreeRoot::ProcMounts procs = procs_;
    for (const Space& space : spaces_) {
        roots.push_back({UniqueFd(sys(::fcntl(space.root.get(), F_DUPFD_CLOEXEC, 0), "copy the descriptor of a root")),
                         space.table});
        const MountPaths paths(space.mounts);
        for (const Mount& mount : space.mounts.all()) {
            // A hidden external mount may be locked in the tree's user namespace, so it is left out.
            if (!paths.isReachable(mount) && (first_ == FirstProcess::InItsOwn || !mount.externalName))
                wanted.insert(mount.id);
            if (mount.pidsOf)
                procs.late.insert(mount.id);
        }
    }
    // Files on hidden mounts may be open.
    files::HiddenMounts hidden;
    for (auto& [id, fd] : openAll(wanted))
        for (const Space& space : spaces_)
            if (const Mount* const mount = space.mounts.find(id))
                hidden.emplace(
                    id, files::HiddenDirectory{mount->mountPoint, std::make_shared<const UniqueFd>(std::move(fd))});
    const auto kind =
        first_ == FirstProcess::WithCriu ? files::TreeRoot::Mounts::DumpedButFirst : files::TreeRoot::Mounts::Dumped;
    return {std::move(roots), std::move(hidden), kind, std::move(procs)};
}

void MountDump::markExternal(const Plugins& plugins) {
    const MountTree outside = MountTree::fromKernel(mountsSeenFrom(cgroups_.get()), {});
    for (const Mount& mount : outside.all())
        rootOutside_ = rootOutside_ || isOnRoot(mount);
    const MountPaths paths(outside);
    std::map<std::uint32_t, std::vector<const Mount*>> reachable;
    const bool automatic = first_ == FirstProcess::WithCriu || externals_.automatic();
    if (automatic)
        for (const Mount& mount : outside.all())
            if (paths.isReachable(mount))
                reachable[mount.device].push_back(&mount);
    for (Mount* const each : all()) {
        Mount& mount = *each;
        if (mount.isTop && first_ == FirstProcess::InItsOwn)
            continue;
        // --external names mount points of the first process' namespace.
        if (auto name = externals_.find(mount.mountPoint); name && spaces_.front().mounts.find(mount.id) != nullptr) {
            mount.externalName = std::move(name);
            continue;
        }
        const dev_t device = kernel::deviceOf(mount.device);
        const auto deviceName = externals_.findDevice(fmt::format("{}/{}", major(device), minor(device)));
        if (deviceName && mount.kind.content == FsContent::Unknown && mount.isWhole()) {
            mount.externalName = kFromDevice;
            mount.source = fmt::format("dev[{}]", *deviceName);
            mount.kind.code = FSTYPE__AUTO;
            continue;
        }
        if (automatic && matchOutside(mount, paths, reachable[mount.device]))
            mount.externalName = kFoundByItself;
    }
    if (first_ == FirstProcess::WithCriu)
        for (Space& space : spaces_)
            takeOutCovered(space, outside);
    makePartsWhole(outside, plugins);
}

/// Treats a directory of a file system in memory as the whole, if no mount shows more of it, as in sandboxes after
/// pivot_root(2). No process can reach the rest. Offers such a mount to plugins first.
void MountDump::makePartsWhole(const MountTree& outside, const Plugins& plugins) {
    std::map<std::uint32_t, std::vector<Mount*>> parts;
    for (Mount* const mount : all())
        parts[mount->device].push_back(mount);
    for (const Mount& mount : outside.all())
        parts.erase(mount.device);
    for (auto& [device, mounts] : parts) {
        const auto shortest = std::min_element(mounts.begin(), mounts.end(), [](const Mount* one, const Mount* other) {
            return one->root.size() < other->root.size();
        });
        const std::string base = (*shortest)->root;
        const auto isPart = [&](const Mount* mount) {
            return mount->kind.content == FsContent::Files && !mount->externalName && !isOnRoot(*mount) &&
                   pathBelow(base, mount->root);
        };
        if ((*shortest)->isWhole() || (*shortest)->rootDeleted || !std::all_of(mounts.begin(), mounts.end(), isPart))
            continue;
        struct stat status {};
        const std::map<int, UniqueFd> opened = openAll({(*shortest)->id});
        sys(::fstat(opened.at((*shortest)->id).get(), &status), "look at {}", (*shortest)->describe());
        if (!S_ISDIR(status.st_mode))
            continue;
        if (!isRoot(**shortest) && plugins((*shortest)->mountPoint, (*shortest)->id)) {
            (*shortest)->ofPlugin = true;
            continue;
        }
        log_.info("Of the file system of {} only {} can be reached: that is dumped as the whole",
                  (*shortest)->describe(), base);
        for (Mount* const mount : mounts)
            mount->root = '/' + *pathBelow(base, mount->root);
    }
}

/// Leaves out mounts that are covered in criu's namespace, too. If the kernel has locked the mounts for another user
/// namespace, the tree can't reach them.
void MountDump::takeOutCovered(Space& space, const MountTree& outside) const {
    std::set<std::uint32_t> devices;
    for (const Mount& mount : outside.all())
        devices.insert(mount.device);
    std::set<int> covered;
    {
        const MountPaths paths(space.mounts);
        for (const Mount& mount : space.mounts.all())
            if (!paths.isReachable(mount) && !mount.externalName && devices.contains(mount.device))
                covered.insert(mount.id);
    }
    std::map<int, std::string> names;
    for (const int id : covered)
        names.emplace(id, space.mounts.find(id)->describe());
    const std::set<int> out = takeOut(space, covered);
    if (out.empty())
        return;
    if (kernel::foreignOwnerUserns(space.fd.get()))
        log_.info("Mount namespace {}: {} mounts that are covered outside, too, aren't dumped", space.number,
                  out.size());
    else  // the tree could unmount the covering mounts
        log_.warn(
            "{} mounts of mount namespace {} are covered, as they are outside, and aren't dumped: {} is one. After a "
            "restore they aren't there when what covers them is taken off",
            out.size(), space.number, names.at(*out.begin()));
}

/// Leaves out mounts that locked mounts cover. The kernel locks all mounts that a mount namespace of another user
/// namespace copies (lock_mnt_tree() in fs/namespace.c), so the tree can't uncover them.
void MountDump::takeOutLocked(Space& space) const {
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
    if (const std::set<int> out = takeOut(space, hidden); !out.empty())
        log_.info("Mount namespace {}: {} mounts that locked mounts cover aren't dumped", space.number, out.size());
}

/// Removes the unwanted mounts from the tree and the table, except parents of other mounts. Returns the removed ids.
std::set<int> MountDump::takeOut(Space& space, const std::set<int>& unwanted) {
    std::set<int> out;
    if (!unwanted.empty())
        out = space.mounts.takeOut([&](const Mount& mount) { return unwanted.contains(mount.id); });
    if (out.empty())
        return out;
    std::vector<kernel::MountInfo> left;
    for (const kernel::MountInfo& mount : space.table.all())
        if (!out.contains(mount.id))
            left.push_back(mount);
    space.table = kernel::MountTable(std::move(left));
    return out;
}

/// Returns true if criu's namespace shows the same directory, and stores its path as the mount's source. `outside`:
/// reachable mounts of the same file system there.
bool MountDump::matchOutside(Mount& mount, const MountPaths& paths, std::span<const Mount* const> outside) const {
    const Mount* best = nullptr;
    std::string source;
    for (const Mount* const other : outside) {
        if (!other->covers(mount) || (best != nullptr && other->root.size() <= best->root.size()))
            continue;
        const std::string below = *pathBelow(other->root, mount.root);
        // The restore creates a missing cgroup only after it looks up this source.
        const bool ofGroups = mount.kind.code == FSTYPE__CGROUP || mount.kind.code == FSTYPE__CGROUP2;
        const bool made = ofGroups && mount.shared == 0 && mount.master == 0;
        if (startsWithParent(below) || (made && !below.empty()))
            continue;
        std::string path = below.empty()
                               ? other->mountPoint
                               : fmt::format("{}/{}", other->mountPoint == "/" ? "" : other->mountPoint, below);
        // Another mount may cover the path.
        if (&paths.lookUp(path) != other)
            continue;
        best = other;
        source = std::move(path);
    }
    if (best == nullptr || mount.rootDeleted)
        return false;
    // With the root in criu's namespace, mounts get criu's events anyway.
    const bool together = first_ == FirstProcess::WithCriu;
    if (mount.shared != 0 && !together && !externals_.withSharing())
        return false;
    if (mount.master != 0 &&
        ((!together && !externals_.withMasters()) || (mount.master != best->shared && mount.master != best->master)))
        return false;
    mount.sharedInsideOnly = mount.shared != 0 && mount.shared != best->shared;
    mount.source = std::move(source);
    log_.info("{} is {} outside", mount.describe(), mount.source);
    return true;
}

void MountDump::check(const Plugins& plugins) {
    if (root() != nullptr && root()->kind.content == FsContent::Files && !rootOutside_ && !hasContent(*root()))
        fail(
            "the root, {}, is the directory {} of a file system in memory that is mounted nowhere else; its files "
            "can't be "
            "dumped",
            root()->describe(), root()->root);
    for (Space& space : spaces_)
        checkProc(space);
    const PathMap<bool> sources = sourcesOnRestore();
    for (Mount* const mount : all())
        if (!isRoot(*mount) && !mount->externalName && !mount->ofPlugin)
            checkSource(*mount, sources, plugins);
    checkMasters();
    for (const Space& space : spaces_)
        checkOwner(space);
}

/// A restore makes a copy of the namespace for its user namespace. The copy's mounts become slaves (copy_mnt_ns() in
/// fs/namespace.c), so it can't share events.
void MountDump::checkOwner(const Space& space) const {
    const auto ownerOf = [](int fd) {
        struct stat status {};
        const UniqueFd owner = kernel::foreignOwnerUserns(fd);
        if (owner)
            sys(::fstat(owner.get(), &status), "look at the owner of a mount namespace");
        return status.st_ino;
    };
    const ino_t ofTree = root() != nullptr ? ownerOf(spaces_.front().fd.get()) : 0;
    if (ownerOf(space.fd.get()) == ofTree)
        return;
    for (const Mount& mount : space.mounts.all()) {
        const std::string_view what = mount.isOverlay()   ? "is an overlay"
                                      : mount.shared != 0 ? "shares events with others"
                                                          : "";
        if (!what.empty())
            fail(
                "{} {}, and is in a mount namespace that belongs to a user namespace other than that of the tree, "
                "which can't be dumped yet",
                mount.describe(), what);
    }
}

/// Throws Error if the namespace can't have a /proc, which criu needs for its restore. If images contain the root's
/// file system, criu creates the directory for the time of the restore.
void MountDump::checkProc(Space& space) const {
    const Mount& proc = MountPaths(space.mounts).lookUp("/proc");
    if (proc.kind.code == FSTYPE__PROC && proc.mountPoint == "/proc")
        return;
    struct stat stat {};
    const bool exists = ::fstatat(space.root.get(), "proc", &stat, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && S_ISDIR(stat.st_mode))
        return;
    if (exists || !hasContent(space.mounts.root()))
        fail("mount namespace {} has no directory /proc, which is needed to restore it", space.number);
    space.lacksProc = true;
}

/// Returns directories, by device, that a restore mounts before it mounts parts of them.
PathMap<bool> MountDump::sourcesOnRestore() {
    PathMap<bool> sources;
    for (const Mount* const mount : all()) {
        const bool exists = isRoot(*mount) || mount->externalName || (mount->isOverlay() && !isOnRoot(*mount)) ||
                            (mount->isWhole() && mount->kind.content != FsContent::Unknown && !isOnRoot(*mount));
        if (exists && !mount->rootDeleted)
            sources.make(mount->device, mount->root) = true;
    }
    return sources;
}

/// Throws Error if a restore would have no source for the mount.
void MountDump::checkSource(Mount& mount, const PathMap<bool>& sources, const Plugins& plugins) {
    if (mount.isOverlay() && !isOnRoot(mount)) {
        if (plugins(mount.mountPoint, mount.id)) {
            mount.ofPlugin = true;
            return;
        }
        const std::map<int, UniqueFd> opened = openAll({mount.id});
        for (const Space& space : spaces_)
            if (space.mounts.find(mount.id) == &mount)
                requireLayers(mount, opened.at(mount.id).get(), space.root.get());
        return;
    }
    if (mount.isAutomount())
        return checkAutomount(mount, plugins);
    const bool canBeMade = mount.kind.content != FsContent::Unknown && !isOnRoot(mount);
    if (mount.isWhole() && canBeMade)
        return;
    const std::vector<PathPrefix> prefixes = prefixesOf(mount.root);
    const bool covered = std::any_of(prefixes.begin(), prefixes.end(), [&](const PathPrefix& prefix) {
        return sources.find(mount.device, mount.root, prefix) != nullptr;
    });
    const bool shared = (mount.kind.content == FsContent::Kernel || mount.kind.content == FsContent::View) &&
                        !startsWithParent(mount.root);
    if (covered || (shared && !mount.rootDeleted && mount.options.find(kNewInstance) == std::string::npos)) {
        if (mount.rootDeleted)
            checkDeleted(mount);
        return;
    }
    if (plugins(mount.mountPoint, mount.id)) {
        mount.ofPlugin = true;
        return;
    }
    Error error(0, mount.isWhole() && !isOnRoot(mount)
                       ? fmt::format("{} is of a file system that a restore can't mount", mount.describe())
                       : fmt::format("{} is a mount of {} from outside of the tree's mount namespace", mount.describe(),
                                     mount.root));
    error.addHint(fmt::format("name it with --external mnt[{}]:NAME{}", mount.mountPoint,
                              mount.isWhole() && mount.kind.code != FSTYPE__OVERLAYFS
                                  ? fmt::format(", or let the restore mount it with --enable-fs {}", mount.fsType)
                                  : std::string()));
    throw error;
}

void MountDump::checkAutomount(Mount& mount, const Plugins& plugins) {
    // Mount namespaces beside criu's may belong to a user namespace, in which the kernel doesn't permit autofs mounts.
    const bool mayBeMade = first_ == FirstProcess::InItsOwn;
    if (mayBeMade && automounts_.take(mount))
        return;
    if (plugins(mount.mountPoint, mount.id)) {
        mount.ofPlugin = true;
        return;
    }
    Error error(0, mayBeMade ? fmt::format("{} is served by process group {}, of which no process in the pid namespace "
                                           "of the tree has its pipe",
                                           mount.describe(), kernel::parseAutofsOptions(mount.options).group)
                             : fmt::format("{} is in a mount namespace beside criu's, where a restore can't mount it",
                                           mount.describe()));
    error.addHint(fmt::format("{}name the mount with --external mnt[{}]:NAME",
                              mayBeMade ? "dump the daemon, too, or " : "", mount.mountPoint));
    throw error;
}

void MountDump::checkDeleted(const Mount& mount) {
    const ErrorContext context([&] { return mount.describe(); });
    if (!isDeletedFile(openAll({mount.id}).at(mount.id).get(), options_.ghostLimit))
        return;
    for (const Mount* const other : all())
        if (deletedFiles_.contains(other->id) && other->device == mount.device && other->root == mount.root)
            fail("it is a mount of a deleted file that is mounted twice, which can't be dumped yet");
    deletedFiles_.insert(mount.id);
}

void MountDump::checkMasters() {
    std::set<int> groups;
    for (const Mount* const mount : all())
        groups.insert(mount->shared);
    for (const Mount* const each : all()) {
        const Mount& mount = *each;
        if (mount.master == 0 || groups.contains(mount.master))
            continue;
        // The user named the mount, and so chose its source.
        const bool named = mount.externalName && mount.externalName != kFoundByItself;
        // The restored root is a new bind mount of an external directory. It becomes a slave of that directory's group,
        // and so do mounts of parts of it.
        const bool ofRoot = root() != nullptr && mount.master == root()->master;
        const bool together = first_ == FirstProcess::WithCriu;
        if (named || ofRoot || (mount.externalName && (together || externals_.withMasters())))
            continue;
        Error error(0, fmt::format("{} gets events from a mount outside of the tree's mount namespace (group {})",
                                   mount.describe(), mount.master));
        if (mount.externalName)
            error.addHint("accept that with --enable-external-masters");
        throw error;
    }
}

bool MountDump::hasContent(const Mount& mount) const {
    if (mount.kind.content != FsContent::Files || !mount.isWhole() || mount.externalName || mount.ofPlugin)
        return false;
    // --root gives the root's files back only if they exist outside of the tree; this root has no mount there.
    return !isOnRoot(mount) || (isRoot(mount) && !rootOutside_);
}

}  // namespace criu::namespaces
