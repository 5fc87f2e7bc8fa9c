// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_dump.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/nanoseconds.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/namespaces/mount/file_contents.hpp"
#include "criu/namespaces/mount/mount_deleted.hpp"
#include "criu/namespaces/mount/mount_views.hpp"
#include "criu/namespaces/mount/outside_mounts.hpp"
#include "criu/namespaces/mount/overlay.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

kernel::MountTable mountsOf(const kernel::ProcPid& task) {
    kernel::ProcBuffer buffer;
    return kernel::readMountInfo(task, buffer);
}

/// Returns the number of bytes that the files of a file system use.
std::uint64_t usedBytes(int directory) {
    struct statvfs system {};
    sys(::fstatvfs(directory, &system), "look at the file system");
    return (system.f_blocks - system.f_bfree) * system.f_frsize;
}

bool isEmpty(int directory, const Mount& mount) {
    struct CloseDirectory {
        void operator()(DIR* open) const noexcept { ::closedir(open); }
    };
    const std::unique_ptr<DIR, CloseDirectory> open(
        ::fdopendir(sys(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open {}", mount.describe())));
    if (!open)
        failErrno("list {}", mount.describe());
    while (const dirent* const entry = ::readdir(open.get()))
        if (const std::string_view name = entry->d_name; name != "." && name != "..")
            return false;
    return true;
}

/// Removes the options uid= and gid= if the tree's user namespace has no mapping for the id; else replaces the id by
/// that of the tree. The kernel shows ids of the initial user namespace, but mount(2) expects ids of the caller's user
/// namespace.
std::string innerOptions(std::string_view options, const model::IdMap& ids) {
    std::string out;
    while (!options.empty()) {
        const std::size_t end = std::min(options.find(','), options.size());
        std::string option(options.substr(0, end));
        options.remove_prefix(std::min(end + 1, options.size()));
        const bool user = option.starts_with("uid=");
        if (user || option.starts_with("gid=")) {
            const auto outer = kernel::parseLoneNumber<std::uint32_t>(option.substr(4), "user or group in an option");
            const std::uint32_t inner = user ? ids.innerUid(outer) : ids.innerGid(outer);
            if (inner == model::IdMap::kNone)
                continue;
            option = fmt::format("{}{}", option.substr(0, 4), inner);
        }
        out += out.empty() ? option : ',' + option;
    }
    return out;
}

}  // namespace

MountDump::MountDump(const model::Options& options, SeenMounts::FirstProcess first, std::span<const SeenNamespace> seen,
                     const SeenTree& tree, Log& log, const MountPlugins& plugins, Refusals& refusals)
    : options_(options), externals_(options), automounts_(tree), mounts_(options, first, seen, tree, log) {
    rootOutside_ = markExternalMounts(mounts_, externals_, plugins, log);
    check(plugins, refusals);
    procs_ = findProcMounts(mounts_, tree, log);
    networks_ = findSysfsNetworks(mounts_, tree, log);
}

files::TreeRoot MountDump::treeRoot() const {
    std::vector<files::TreeRoot::Space> roots;
    if (mounts_.withCriu())
        roots.push_back({openRootDirectory(), mountsOf(kernel::ProcDir().self())});
    std::set<int> wanted;
    files::TreeRoot::ProcMounts procs = procs_;
    for (const SeenMountSpace& space : mounts_.spaces()) {
        roots.push_back({UniqueFd(sys(::fcntl(space.root.get(), F_DUPFD_CLOEXEC, 0), "copy the descriptor of a root")),
                         space.table});
        const MountPaths paths(space.mounts);
        for (const Mount& mount : space.mounts.all()) {
            // Skips hidden external mounts, because the kernel may have locked them for the tree's user namespace.
            if (!paths.isReachable(mount) && (!mounts_.withCriu() || !mount.externalName))
                wanted.insert(mount.id);
            if (mount.pidsOf)
                procs.late.insert(mount.id);
        }
    }
    // Opens the hidden mounts, because processes may have files of these mounts open.
    files::HiddenMounts hidden;
    for (auto& [id, fd] : mounts_.openAll(wanted))
        for (const SeenMountSpace& space : mounts_.spaces())
            if (const Mount* const mount = space.mounts.find(id))
                hidden.emplace(
                    id, files::HiddenDirectory{mount->mountPoint, std::make_shared<const UniqueFd>(std::move(fd))});
    const auto kind = mounts_.withCriu() ? files::TreeRoot::Mounts::DumpedButFirst : files::TreeRoot::Mounts::Dumped;
    return {std::move(roots), std::move(hidden), kind, std::move(procs)};
}

void MountDump::check(const MountPlugins& plugins, Refusals& refusals) {
    refusals.attempt([this] { requireRootContent(); });
    for (SeenMountSpace& space : mounts_.spaces())
        refusals.attempt([&] { checkProc(space); });
    const PathMap<bool> sources = sourcesOnRestore();
    for (Mount* const mount : mounts_.all())
        if (!mounts_.isRoot(*mount) && !mount->externalName && !mount->ofPlugin)
            refusals.attempt([&] { checkSource(*mount, sources, plugins); });
    checkMasters(refusals);
    for (const SeenMountSpace& space : mounts_.spaces())
        refusals.attempt([&] { checkOwner(space); });
}

/// Throws Error if images would lack the files of the root.
void MountDump::requireRootContent() const {
    if (mounts_.root() != nullptr && mounts_.root()->kind.content == FsContent::Files && !rootOutside_ &&
        !hasContent(*mounts_.root()))
        fail(
            "the root, {}, is the directory {} of a file system in memory that is mounted nowhere else; its files "
            "can't be "
            "dumped",
            mounts_.root()->describe(), mounts_.root()->root);
}

/// Checks a namespace whose owner is another user namespace than the tree's. Throws Error if this namespace has
/// overlays or shared mounts. A restore copies the namespace for the other user namespace. In such a copy, the kernel
/// makes each mount a slave (copy_mnt_ns() in fs/namespace.c), so that these mounts couldn't share events.
void MountDump::checkOwner(const SeenMountSpace& space) const {
    const auto ownerOf = [](int fd) {
        struct stat status {};
        const UniqueFd owner = kernel::foreignOwnerUserns(fd);
        if (owner)
            sys(::fstat(owner.get(), &status), "look at the owner of a mount namespace");
        return status.st_ino;
    };
    const ino_t ofTree = mounts_.root() != nullptr ? ownerOf(mounts_.spaces().front().fd.get()) : 0;
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

/// Throws Error if a restore can't mount a /proc in the namespace: criu needs a /proc there. If images contain the
/// root's file system, criu can create the directory /proc for the time of the restore.
void MountDump::checkProc(SeenMountSpace& space) const {
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

/// Returns directories that a restore mounts early. Mounts of parts of such a directory can be cloned from them. The
/// key is device and directory.
PathMap<bool> MountDump::sourcesOnRestore() {
    PathMap<bool> sources;
    for (const Mount* const mount : mounts_.all()) {
        const bool exists =
            mounts_.isRoot(*mount) || mount->externalName || (mount->isOverlay() && !mounts_.isOnRoot(*mount)) ||
            (mount->isWhole() && mount->kind.content != FsContent::Unknown && !mounts_.isOnRoot(*mount));
        if (exists && !mount->rootDeleted)
            sources.make(mount->device, mount->root) = true;
    }
    return sources;
}

/// Throws Error if a restore would have no source for `mount`, neither a mount to clone nor a file system to mount.
void MountDump::checkSource(Mount& mount, const PathMap<bool>& sources, const MountPlugins& plugins) {
    if (mount.isOverlay() && !mounts_.isOnRoot(mount)) {
        if (plugins(mount.mountPoint, mount.id)) {
            mount.ofPlugin = true;
            return;
        }
        const std::map<int, UniqueFd> opened = mounts_.openAll({mount.id});
        for (const SeenMountSpace& space : mounts_.spaces())
            if (space.mounts.find(mount.id) == &mount)
                requireLayers(mount, opened.at(mount.id).get(), space.root.get());
        return;
    }
    if (mount.isAutomount())
        return checkAutomount(mount, plugins);
    const std::vector<PathPrefix> prefixes = prefixesOf(mount.root);
    const bool covered = std::any_of(prefixes.begin(), prefixes.end(), [&](const PathPrefix& prefix) {
        return sources.find(mount.device, mount.root, prefix) != nullptr;
    });
    const bool shared =
        (mount.kind.content == FsContent::Kernel || mount.kind.content == FsContent::View) && !isAboveRoot(mount.root);
    if (covered || (shared && !mount.rootDeleted && mount.options.find(kNewInstance) == std::string::npos)) {
        if (mount.rootDeleted)
            checkDeleted(mount);
        return;
    }
    if (plugins(mount.mountPoint, mount.id)) {
        mount.ofPlugin = true;
        return;
    }
    Error error(0, mount.isWhole() && !mounts_.isOnRoot(mount)
                       ? fmt::format("{} is of a file system that a restore can't mount", mount.describe())
                       : fmt::format("{} is a mount of {} from outside of the tree's mount namespace", mount.describe(),
                                     mount.root));
    error.addHint(
        fmt::format("name it with --external mnt[{}]:NAME{}; dump a container by its runtime, such as runc checkpoint",
                    mount.mountPoint,
                    mount.isWhole() && mount.kind.code != FSTYPE__OVERLAYFS
                        ? fmt::format(", or let the restore mount it with --enable-fs {}", mount.fsType)
                        : std::string()));
    throw error;
}

void MountDump::checkAutomount(Mount& mount, const MountPlugins& plugins) {
    // If the root is in criu's mount namespace, a user namespace may own the other mount namespaces. The kernel permits
    // no autofs mounts in a user namespace.
    const bool mayBeMade = !mounts_.withCriu();
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
    if (!isDeletedFile(mounts_.openAll({mount.id}).at(mount.id).get(), options_.ghostLimit))
        return;
    for (const Mount* const other : mounts_.all())
        if (deletedFiles_.contains(other->id) && other->device == mount.device && other->root == mount.root)
            fail("it is a mount of a deleted file that is mounted twice, which can't be dumped yet");
    deletedFiles_.insert(mount.id);
}

void MountDump::checkMasters(Refusals& refusals) {
    std::set<int> groups;
    for (const Mount* const mount : mounts_.all())
        groups.insert(mount->shared);
    for (const Mount* const each : mounts_.all()) {
        const Mount& mount = *each;
        if (mount.master == 0 || groups.contains(mount.master))
            continue;
        // A mount that the user has named is allowed: by the name, the user chooses its source.
        const bool named = mount.externalName && mount.externalName != kFoundByItself;
        // A mount with the same master as the root is allowed. The restored root is a new bind mount of an external
        // directory, and becomes a slave of this directory's peer group. Mounts of parts of the root then do so, too.
        const bool ofRoot = mounts_.root() != nullptr && mount.master == mounts_.root()->master;
        const bool together = mounts_.withCriu();
        if (named || ofRoot || (mount.externalName && (together || externals_.withMasters())))
            continue;
        Error error(0, fmt::format("{} gets events from a mount outside of the tree's mount namespace (group {})",
                                   mount.describe(), mount.master));
        if (mount.externalName)
            error.addHint("accept that with --enable-external-masters");
        refusals.attempt([&] { throw error; });
    }
}

bool MountDump::hasContent(const Mount& mount) const {
    if (mount.kind.content != FsContent::Files || !mount.isWhole() || mount.externalName || mount.ofPlugin)
        return false;
    // Usually --root restores the files of the root, because they exist outside of the tree. If this root has no mount
    // outside of the tree, images must contain its files.
    return !mounts_.isOnRoot(mount) || (mounts_.isRoot(mount) && !rootOutside_);
}

std::vector<SocketFile> MountDump::writeContent(const DumpOutputs& outputs, const Mount& mount, const model::IdMap& ids,
                                                int opened, StopRequest& stop, bool dryRun) {
    const UniqueFd directory(
        sys(::openat(opened, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open {}", mount.describe()));
    const ErrorContext context([&] { return mount.describe(); });
    FileContents apart;
    if (dryRun) {
        // The archive without the content of large files, which goes nowhere. It would fill the memory of a dry run.
        const UniqueFd nowhere(sys(::open("/dev/null", O_WRONLY | O_CLOEXEC), "open /dev/null"));
        return FileArchives().pack(directory.get(), nowhere.get(), ids, &apart, stop);
    }
    UniqueFd image = outputs.images.createRaw(ImageKind::TmpfsDev, mount.device);
    const bool isApart = outputs.pages.takes(memory::MemoryObject::Kind::Files) &&
                         usedBytes(directory.get()) >= FileContents::kWorthwhile;
    auto sockets = FileArchives().pack(directory.get(), image.get(), ids, isApart ? &apart : nullptr, stop);
    closeWritten(std::move(image), imageName(ImageKind::TmpfsDev, mount.device));
    apart.write(directory.get(), outputs.images, mount.device, outputs.pages, stop);
    return sockets;
}

void MountDump::write(const DumpOutputs& outputs, const DumpNsContext& around, StopRequest& stop) {
    const auto mustBeEmpty = [&](const Mount& mount) {
        return !mount.externalName && !mount.ofPlugin && mount.kind.mustBeEmpty;
    };
    std::set<int> wanted;
    std::set<std::uint32_t> devices;
    for (const Mount* const mount : mounts_.all())
        if ((hasContent(*mount) || (mustBeEmpty(*mount) && mount->isWhole())) && devices.insert(mount->device).second)
            wanted.insert(mount->id);
    wanted.insert(deletedFiles_.begin(), deletedFiles_.end());
    writeAutomounts(outputs.images);
    const std::map<int, UniqueFd> opened = mounts_.openAll(wanted);
    for (const SeenMountSpace& space : mounts_.spaces())
        writeSpace(outputs, space, around, opened, stop);
}

void MountDump::writeAutomounts(const ImageDir& images) const {
    std::map<std::uint32_t, const Mount*> automounts;
    std::set<int> listed;
    for (const SeenMountSpace& space : mounts_.spaces())
        for (const Mount& mount : space.mounts.all())
            if (mount.isAutomount() && automounts.emplace(mount.device, &mount).second &&
                automounts_.hasNames(mount.device))
                listed.insert(mount.id);
    const std::map<int, UniqueFd> opened = mounts_.openAll(listed);
    for (const auto& [device, mount] : automounts) {
        const auto found = opened.find(mount->id);
        automounts_.write(images, *mount, found != opened.end() ? &found->second : nullptr);
    }
}

void MountDump::writeSpace(const DumpOutputs& outputs, const SeenMountSpace& space, const DumpNsContext& around,
                           const std::map<int, UniqueFd>& opened, StopRequest& stop) const {
    const model::IdMap& ids = around.ids;
    Arena arena;
    ImageWriter image = outputs.images.create(ImageKind::Mountpoints, space.number);
    for (const Mount& mount : space.mounts.all()) {
        MntEntry& entry = *entryOf(mount, arena);
        if (ids.isOwnNamespace() && entry.options != nullptr)
            entry.options = arena.string(innerOptions(entry.options, ids));
        if (space.lacksProc && mount.id == space.mounts.root().id)
            entry.has_lacks_proc = entry.lacks_proc = 1;
        const auto network = networks_.find(mount.device);
        if (network != networks_.end() && !mount.externalName && !mount.ofPlugin) {
            entry.has_network_of = 1;
            entry.network_of = around.numberOf(kernel::NamespaceKind::Net, network->second);
        }
        if (deletedFiles_.contains(mount.id)) {
            const ErrorContext context([&] { return mount.describe(); });
            entry.deleted_file = describeDeletedFile(opened.at(mount.id).get(), ids, arena);
        } else if (const auto found = opened.find(mount.id); found != opened.end()) {
            if (!hasContent(mount)) {
                if (!isEmpty(found->second.get(), mount))
                    fail("{} has files in it, which can't be dumped yet", mount.describe());
            } else {
                const std::vector<SocketFile> sockets =
                    writeContent(outputs, mount, ids, found->second.get(), stop, options_.dryRun);
                entry.n_sockets = sockets.size();
                entry.sockets = arena.messages<MntSocketEntry>(sockets.size());
                for (std::size_t at = 0; at < sockets.size(); ++at) {
                    entry.sockets[at]->path = arena.string(sockets[at].path);
                    entry.sockets[at]->mode = sockets[at].mode;
                    entry.sockets[at]->uid = sockets[at].user;
                    entry.sockets[at]->gid = sockets[at].group;
                    entry.sockets[at]->has_mtime = 1;
                    entry.sockets[at]->mtime = nanosecondsOf(sockets[at].modified);
                }
            }
        }
        image.write(entry);
    }
    image.finish();
}

}  // namespace criu::namespaces
