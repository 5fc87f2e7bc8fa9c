// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/names.hpp"
#include "criu/files/build_id.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/path_open.hpp"
#include "criu/files/proc_path.hpp"
#include "criu/files/regular.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/options.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/fdinfo.hpp"

namespace criu::files {
namespace {

/// Returns false for log files: other programs append to them after the dump, so that a restore must not compare their
/// size.
bool sizeMatters(std::uint32_t flags) {
    return (flags & O_APPEND) == 0 || (flags & O_ACCMODE) != O_WRONLY;
}

bool sameFile(const struct stat& one, const struct stat& other) {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

decltype(statfs::f_type) fileSystemOf(const OpenFd& file) {
    struct statfs fs {};
    sys(::fstatfs(file.copy.get(), &fs), "find out the file system of {}", file.describe());
    return fs.f_type;
}

/// Warns of extended attributes of a deleted file, such as access control lists. A restore creates a new file without
/// them. Labels of SELinux and Smack, and signatures of IMA and EVM, don't count, because the kernel sets them itself.
void warnOfAttributes(const OpenFd& file, Log& log) {
    constexpr std::string_view kOfKernel[] = {"security.selinux", "security.SMACK64", "security.ima", "security.evm"};
    std::array<char, XATTR_LIST_MAX> names;
    // The link in /proc leads to the file itself, and works for O_PATH descriptors. fgetxattr(2) refuses those.
    const ssize_t length =
        ::listxattr(fmt::format("/proc/self/fd/{}", file.copy.get()).c_str(), names.data(), names.size());
    if (length < 0 && errno != ENOTSUP)
        log.loss(Loss::Attributes, "{} is deleted, and its extended attributes can't be listed: {}", file.describe(),
                 std::strerror(errno));
    std::vector<std::string> lost;
    for (ssize_t at = 0; at < length; at += static_cast<ssize_t>(lost.back().size()) + 1)
        lost.emplace_back(names.data() + at);
    std::erase_if(lost, [&](const std::string& name) {
        return std::any_of(std::begin(kOfKernel), std::end(kOfKernel),
                           [&](std::string_view prefix) { return name.starts_with(prefix); });
    });
    if (!lost.empty())
        log.loss(Loss::Attributes, "{} is deleted, and loses its extended attributes: {}", file.describe(),
                 fmt::join(lost, ", "));
}

/// Returns true for a deleted device node, because a restore creates it in a file system that isn't mounted
/// (GhostFile).
bool isDeletedDevice(const OpenFd& file) {
    return (S_ISCHR(file.stat.st_mode) || S_ISBLK(file.stat.st_mode)) && file.stat.st_nlink == 0;
}

/// Returns the id of the mount to which a path leads in the tree. file.mountId() may differ: if the file was opened
/// before the tree got its mounts, it is a mount of another namespace.
int mountOf(const OpenFd& file, const std::string& path, const TreeRoot& tree) {
    const int id = file.mountId();
    if (tree.hasMount(id))
        return id;
    const UniqueFd there(::open(tree.at(path).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const int found = there ? kernel::mountIdOf(there.get()).value_or(-1) : -1;
    if (found < 0 || !tree.hasMount(found))
        refuseOutside(file);
    return found;
}

/// Returns true if another mount covers the directory of a deleted file, or the nearest existing directory above it. A
/// restore would then create the file on the covering mount.
bool isDirectoryCovered(std::string path, int mount, const TreeRoot& tree) {
    if (!tree.isOwn() || !tree.hasMount(mount) || tree.isCovered(mount))
        return false;
    while (path.size() > 1) {
        path.resize(std::max<std::size_t>(path.rfind('/'), 1));
        const UniqueFd directory(::open(tree.at(path, mount).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (directory)
            return kernel::mountIdOf(directory.get()) != mount;
    }
    return false;
}

/// Returns true for a file on criu's /proc, if the tree is in a private pid namespace. Such a file shows host pids.
bool isOnCriusProc(const OpenFd& file, const FileDump& dump) {
    struct stat crius {};
    sys(::stat("/proc", &crius), "look at /proc");
    return dump.pids().isOwnNamespace() && file.stat.st_dev == crius.st_dev &&
           !dump.treeRoot().changesPids(file.mountId(), kernel::kernelForm(crius.st_dev));
}

/// Throws Error for a file below a process' directory in /proc if its path would name another process after a restore.
void requireSameProcess(const OpenFd& file, const std::string& path, const FileDump& dump) {
    const TreeRoot& tree = dump.treeRoot();
    const int own = file.mountId();
    const std::optional<TreePid> number =
        processOfPath(tree.pathInProc(path, tree.isDumped() ? mountOf(file, path, tree) : own));
    if (!number)
        return;
    const model::TreePids& pids = dump.pids();
    if (tree.changesPids(own, kernel::kernelForm(file.stat.st_dev))) {
        const std::string directory = fmt::format("/proc/{}", *number);
        // If the pid belongs to no process, neither before nor after the restore, the file is dumped as a file of an
        // ended process.
        const bool ended = processOfPath(path) == number && tree.hasMount(own) &&
                           !leadsToFile(tree.at(directory, own)) && !leadsToFile(tree.at(directory)) &&
                           !(pids.isOwnNamespace() ? pids.has(*number) : dump.isDumped(HostPid(number->value)));
        if (!ended)
            fail(
                "{} belongs to a process, on a proc file system that shows another pid namespace than that of the "
                "tree's root, and would belong to another process after a restore; that can't be dumped",
                file.describe());
        return;
    }
    if (!isOnCriusProc(file, dump))
        return;
    const TreePid inside = pids.inside(HostPid(number->value));
    if (inside && inside != *number)
        fail(
            "{} belongs to a process of the tree, by its number in criu's pid namespace, which isn't that of "
            "the tree and has another number for it after a restore; that can't be dumped",
            file.describe());
}

void dropSuffix(std::string& path, std::string_view suffix) {
    if (path.ends_with(suffix))
        path.resize(path.size() - suffix.size());
}

/// Returns the build id of a file; empty if the file has none or can't be read.
std::vector<std::byte> buildIdOf(const OpenFd& file, const ImageDir& images) {
    try {
        return readBuildId(openContent(file, images).get());
    } catch (const Error&) {
        return {};
    }
}

}  // namespace

void PathDump::fill(const OpenFd& file, std::uint32_t flags, bool wantBuildId, RegFileEntry& out, FileDump& dump) {
    std::string path = file.link;
    if (!path.starts_with('/')) {
        if (path.starts_with("(unreachable)"))
            fail("{} lies on a mount that can't be reached from here", file.describe());
        fail("{} is of a kind that can't be dumped", file.describe());
    }
    out.has_mode = 1;
    out.mode = file.stat.st_mode;
    const auto fileSystem = fileSystemOf(file);
    const TreeRoot& tree = dump.treeRoot();
    if (fileSystem == PROC_SUPER_MAGIC && tree.isLate(file.mountId()))
        fail(
            "{} lies on a proc file system of a pid namespace below that of the root of the tree, which can't be "
            "dumped "
            "yet",
            file.describe());
    if (fileSystem == PROC_SUPER_MAGIC)
        remapDeadProcess(file, path, out, dump);
    else if (fileSystem == DEVPTS_SUPER_MAGIC)
        dropSuffix(path, kernel::kDeletedMark);  // a restore creates the terminal, and with it the name
    else
        findPath(file, path, out, dump);

    if (tree.isDumped() && !(isDeletedDevice(file) && !tree.hasMount(file.mountId()))) {
        out.has_mnt_id = 1;
        out.mnt_id = mountOf(file, path, tree);
        if (tree.isOfNonRootNs(out.mnt_id) && tree.isCovered(out.mnt_id))
            fail("{} lies on a mount that another covers in a further mount namespace, which can't be restored yet",
                 file.describe());
    }
    out.name = dump.arena().string(path);
    out.flags = flags;
    out.pos = static_cast<std::uint64_t>(file.info.pos);
    if (fileSystem != PROC_SUPER_MAGIC)  // in proc, inode numbers change with each lookup
        storeInode(file.copy.get(), out);
    if (!S_ISREG(file.stat.st_mode))
        return;
    if (sizeMatters(flags)) {
        out.has_size = 1;
        out.size = static_cast<std::uint64_t>(file.stat.st_size);
    }
    if (wantBuildId) {
        const std::vector<std::byte> id = buildIdOf(file, dump.images());
        if (!id.empty()) {
            out.n_build_id = (id.size() + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
            out.build_id = dump.arena().array<std::uint32_t>(out.n_build_id);
            std::memcpy(out.build_id, id.data(), id.size());
        }
    }
}

void PathDump::findPath(const OpenFd& file, std::string& path, RegFileEntry& out, FileDump& dump) {
    // The kernel appends " (deleted)" to the path of a deleted file. A name may also end with this text, so tries both
    // paths.
    struct stat there {};
    const TreeRoot& tree = dump.treeRoot();
    const int mount = tree.isOwn() ? file.mountId() : -1;
    const auto leadsThere = [&] {
        if (::lstat(tree.at(path, mount).c_str(), &there) != 0) {
            if (errno == EIO || errno == ENOMEM)
                failErrno("look at {}", path);
            return false;
        }
        const bool device = S_ISCHR(file.stat.st_mode) || S_ISBLK(file.stat.st_mode);
        const bool sameDevice =
            device && (there.st_mode & S_IFMT) == (file.stat.st_mode & S_IFMT) && there.st_rdev == file.stat.st_rdev;
        if (sameFile(there, file.stat))
            return true;
        if (!sameDevice || (!dump.options().evasiveDevices && tree.hasMount(mount)))
            return false;
        out.mode = there.st_mode;
        return true;
    };
    // Refuses a mount of open_tree(2) with OPEN_TREE_CLONE, because it isn't attached. Its path may lead to the same
    // directory on the original mount.
    if (file.fd >= 0 && (file.info.flags & O_PATH) != 0 && kernel::isMountRoot(file.copy.get()) &&
        !isMounted(file, tree))
        refuseOutside(file);
    if (leadsThere())
        return;
    dropSuffix(path, kernel::kDeletedMark);
    if (leadsThere())
        return;
    if (!tree.hasMount(mount) && !isDeletedDevice(file))
        refuseOutside(file);
    // glibc's sem_open(3) creates a file with a temporary name, links it to its final name, and removes the temporary
    // name. criu uses the final name. With --link-remap alone, criu creates a separate link, because no other program
    // removes this link.
    const bool byName = dump.options().ghostLinks || !dump.options().linkRemap;
    if (byName && file.stat.st_nlink != 0 && !S_ISDIR(file.stat.st_mode))
        if (auto name = otherName(file, path, dump)) {
            dump.log().info("{} has lost its name: dumped as {}, which is the same file", file.describe(), *name);
            path = std::move(*name);
            return;
        }
    remap(file, path, out, dump);
}

void PathDump::remapDeadProcess(const OpenFd& file, std::string& path, const RegFileEntry& out, FileDump& dump) {
    const TreeRoot& tree = dump.treeRoot();
    // Doesn't compare inode numbers in proc, because they change with each lookup.
    dropSuffix(path, kernel::kDeletedMark);
    requireSameProcess(file, path, dump);
    const std::optional<TreePid> pid = processOfPath(path);
    if (!pid || deadProcesses_.contains(*pid) || leadsToFile(tree.at(fmt::format("/proc/{}", *pid))))
        return;
    // A restore would create a placeholder process with this pid. For this, the process that opens the file must be in
    // the pid namespace of the path, and here it may be in another one.
    if (!dump.pids().nested().empty() || isOnCriusProc(file, dump))
        fail("{} is of a process that has ended, which can't be dumped in a tree with pid namespaces of its own yet",
             file.describe());
    deadProcesses_.insert(*pid);
    RemapFilePathEntry entry = REMAP_FILE_PATH_ENTRY__INIT;
    entry.orig_id = out.id;
    entry.has_remap_type = 1;
    entry.remap_type = REMAP_TYPE__PROCFS;
    entry.remap_id = static_cast<std::uint32_t>(pid->value);
    remaps_.push_back(entry);
}

void PathDump::remap(const OpenFd& file, const std::string& path, RegFileEntry& out, FileDump& dump) {
    RemapFilePathEntry entry = REMAP_FILE_PATH_ENTRY__INIT;
    entry.orig_id = out.id;
    entry.has_remap_type = 1;
    if (isDirectoryCovered(path, file.mountId(), dump.treeRoot()))
        fail("{} is deleted, and another mount lies over the directory it was in, which can't be restored yet",
             file.describe());
    const bool directory = S_ISDIR(file.stat.st_mode);
    const bool asGhost = file.stat.st_nlink == 0 || (dump.options().ghostLinks && S_ISREG(file.stat.st_mode));
    if (asGhost && file.stat.st_nlink != 0)
        dump.log().loss(Loss::Links,
                        "{} has other links: after a restore it isn't one file with them any more (--ghost-links)",
                        file.describe());
    if (asGhost || (directory && file.link.ends_with(kernel::kDeletedMark))) {
        entry.remap_type = REMAP_TYPE__GHOST;
        if (!ghosts_.has(file.stat.st_dev, file.stat.st_ino))
            warnOfAttributes(file, dump.log());
        entry.remap_id = ghosts_.add(file, dump.images(), dump.ids(), dump.stop());
        dump.log().info("{} is deleted: dumped as ghost {}", file.describe(), entry.remap_id);
        if (!isMounted(file, dump.treeRoot()))
            dump.log().loss(Loss::Mounts,
                            "{} is deleted, on a detached mount: a restore makes it on another file system",
                            file.describe());
    } else {
        entry.remap_type = REMAP_TYPE__LINKED;
        entry.remap_id = linkRemap(file, path, dump).value;
    }
    remaps_.push_back(entry);
}

void PathDump::finish(const ImageDir& images) {
    if (remaps_.empty())
        return;
    ImageWriter image = images.create(ImageKind::RemapFpath);
    for (const RemapFilePathEntry& entry : remaps_)
        image.write(entry);
    image.finish();
}

}  // namespace criu::files
