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

/// Mounts of the calling thread's namespace, through a /proc that was opened before it came here.
kernel::MountTable mountsHere(const kernel::ProcDir& proc) {
    return kernel::MountTable(kernel::parseMountInfo(proc.readFile("thread-self/mountinfo")));
}

kernel::MountTable mountsOf(const kernel::ProcPid& task) {
    kernel::ProcBuffer buffer;
    return kernel::readMountInfo(task, buffer);
}

/// criu's own mounts as they are seen from a cgroup namespace, to be compared with others that are: which part of a
/// hierarchy is mounted, the kernel tells by the way there from the root of who asks.
kernel::MountTable mountsSeenFrom(int cgroups) {
    const kernel::ProcDir proc;
    std::optional<kernel::MountTable> table;
    kernel::runInThread([&] {
        sys(::setns(cgroups, CLONE_NEWCGROUP), "enter the cgroup namespace of the tree");
        table.emplace(mountsHere(proc));
    });
    return std::move(*table);
}

/// Whether a way from the root of a hierarchy, or from one directory to another, leads further up first.
bool startsWithParent(std::string_view path) {
    path.remove_prefix(path.starts_with('/') ? 1 : 0);
    return path == ".." || path.starts_with("../");
}

/// A path as the kernel shows it, from the root of the calling thread: no link is on its way.
UniqueFd cloneAt(std::string_view path) {
    const UniqueFd root(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"));
    return kernel::cloneMountBelow(root.get(), pathBelow("/", path).value());
}

/// A mount of the same, with nothing mounted below. A path leads to the mount.
UniqueFd cloneOf(const Mount& mount) {
    const ErrorContext context([&] { return mount.describe(); });
    try {
        return cloneAt(mount.mountPoint);
    } catch (const Error& error) {
        if (error.code() != EINVAL)
            throw;
        // has_locked_children() in fs/namespace.c
        Error refused(
            0,
            "it came from outside together with the mounts on it, and for the user namespace that it is in the "
            "kernel has locked these together, so its files can't be dumped");
        refused.addHint("take mounts of the outside as they are there: --external mnt[], at the restore too");
        throw refused;
    }
}

/// A copy of a namespace, of which mounts can be taken off so that hidden ones come to light.
class Copy {
public:
    explicit Copy(const kernel::ProcDir& proc, const MountTree& original) : proc_(proc) {
        sys(::unshare(CLONE_NEWNS), "copy the mount namespace");
        sys(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "separate the copy of a mount namespace");
        match(original, look());
    }

    /// Clones each of these mounts, with nothing mounted below. Locked mounts that can't be uncovered are left out.
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

    /// Takes off these, and before them what is mounted on them, as far as a path leads there now: what they hide comes
    /// to light, and may be among what is looked for. False if there was nothing.
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

    /// A copy has the same mounts at the same places.
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

/// What mounts hide is got at by taking them off one after the other, and whoever has a user namespace may put as many
/// on each other as the kernel has (fs.mount-max, a hundred thousand). No tree that is meant is nearly as deep as this.
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

/// From within, so that nothing is left out if the process has another root, and in the cgroup namespace of the tree's
/// root, where mounts of its hierarchies begin at "/". Whoever makes them again is in that one, for all namespaces.
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

/// Mounts of the same as these.
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
        // What --skip-mnt leaves out counts here.
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
    // In a copy for another user namespace than the original's the kernel locks all mounts.
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
            // What is of the outside may be locked for those who have it.
            if (!paths.isReachable(mount) && (first_ == FirstProcess::InItsOwn || !mount.externalName))
                wanted.insert(mount.id);
            if (mount.pidsOf)
                procs.late.insert(mount.id);
        }
    }
    // Files of hidden mounts may be open.
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
        // Mount points are those of the first process.
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

/// Where nothing is left of a file system in memory but a directory and what is below, as sandboxes have it after
/// pivot_root(2), that directory is all that a restore makes: nobody gets at the rest. Plugins are asked before, which
/// are there for what is a part of something.
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

/// What is covered outside, and came from there with what covers it, can't be reached outside, and in a namespace of
/// another user namespace not here either (the kernel locks it): there nobody misses it.
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
    else  // where the kernel hasn't locked what covers them
        log_.warn(
            "{} mounts of mount namespace {} are covered, as they are outside, and aren't dumped: {} is one. After a "
            "restore they aren't there when what covers them is taken off",
            out.size(), space.number, names.at(*out.begin()));
}

/// Takes out mounts that locked mounts cover. The kernel locks all mounts that a mount namespace of another user
/// namespace has from outside, so the tree can't uncover them (lock_mnt_tree() in fs/namespace.c).
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

/// Takes out those of these mounts that no others need. Returns their numbers.
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

/// Whether criu's own namespace has the same directory; then its path becomes the mount's source. `outside`: mounts
/// there of the same file system that paths lead to.
bool MountDump::matchOutside(Mount& mount, const MountPaths& paths, std::span<const Mount* const> outside) const {
    const Mount* best = nullptr;
    std::string source;
    for (const Mount* const other : outside) {
        if (!other->covers(mount) || (best != nullptr && other->root.size() <= best->root.size()))
            continue;
        const std::string below = *pathBelow(other->root, mount.root);
        // A group that isn't there any more is made by the restore, which hasn't done it when it looks outside.
        const bool ofGroups = mount.kind.code == FSTYPE__CGROUP || mount.kind.code == FSTYPE__CGROUP2;
        const bool made = ofGroups && mount.shared == 0 && mount.master == 0;
        if (startsWithParent(below) || (made && !below.empty()))
            continue;
        std::string path = below.empty()
                               ? other->mountPoint
                               : fmt::format("{}/{}", other->mountPoint == "/" ? "" : other->mountPoint, below);
        // Something else may be mounted on the way.
        if (&paths.lookUp(path) != other)
            continue;
        best = other;
        source = std::move(path);
    }
    if (best == nullptr || mount.rootDeleted)
        return false;
    // Whose first process is with criu gets events from there anyway.
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
            "the root, {}, is the directory {} of a file system in memory that nobody outside has; its files can't be "
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

/// A namespace that belongs to a further user namespace is restored as a copy for that, in which nothing shares events
/// with others any more (copy_mnt_ns() in fs/namespace.c).
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

/// criu needs /proc to restore a namespace. It makes the directory for the time of the restore where the root is a file
/// system that it fills itself.
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

/// Directories of file systems, by device, that a restore has mounts of before it makes those of parts of them.
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

/// Refuses what nothing can be mounted for on restore.
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
                       ? fmt::format("{} is of a file system that can't be mounted anew", mount.describe())
                       : fmt::format("{} is a mount of {} from outside of the tree's mount namespace", mount.describe(),
                                     mount.root));
    error.addHint(fmt::format("name it with --external mnt[{}]:NAME{}", mount.mountPoint,
                              mount.isWhole() && mount.kind.code != FSTYPE__OVERLAYFS
                                  ? fmt::format(", or mount it anew with --enable-fs {}", mount.fsType)
                                  : std::string()));
    throw error;
}

void MountDump::checkAutomount(Mount& mount, const Plugins& plugins) {
    // Namespaces beside criu's may belong to a user namespace, in which nobody may mount such a file system.
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
                             : fmt::format("{} is in a mount namespace beside criu's, where it can't be mounted anew",
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
        // Whoever names a mount knows what it is.
        const bool named = mount.externalName && mount.externalName != kFoundByItself;
        // The root is bound from outside anew, and follows what its new place follows; so do mounts of parts of it.
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
    // The root is there again when a directory is given for it; but nobody outside has this one.
    return !isOnRoot(mount) || (isRoot(mount) && !rootOutside_);
}

}  // namespace criu::namespaces
