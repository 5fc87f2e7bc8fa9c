// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/temporary_proc.hpp"

#include <sys/mount.h>
#include <sys/stat.h>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/namespaces/mount/outside_mounts.hpp"

namespace criu::namespaces {
namespace {

constexpr const char* kProc = "proc";

}  // namespace

bool lacksProc(const MountTree& tree) {
    const Mount& proc = MountPaths(tree).lookUp("/proc");
    return proc.kind.code != FSTYPE__PROC || !proc.isWhole() || proc.mountPoint != "/proc" ||
           ((proc.flags | proc.superFlags) & MS_RDONLY) != 0;
}

UniqueFd makeProcMount(const MountTree& tree) {
    if (!lacksProc(tree))
        return {};
    const ErrorContext context([] { return "make a proc file system for the time of the restore"; });
    return kernel::mountFileSystem({"proc", "proc", "", 0});
}

void addProc(const UniqueFd& proc) {
    if (!proc)
        return;
    const ErrorContext context([] { return "put a proc file system on /proc for the time of the restore"; });
    kernel::attachMountBelow(proc.get(), openRootDirectory().get(), kProc);
}

void makeProcDirectory(int root) {
    struct stat before {};
    sys(::fstat(root, &before), "look at the root");
    if (const int code = tryMakeDirectory(root, kProc, S_IRWXU); code != 0)
        failWith(code, "make a directory /proc for the time of the restore");
    changeTimes(root, before.st_atim, before.st_mtim);
}

void removeProcDirectory(const Mount& mount) {
    const UniqueFd root = openRootDirectory();
    struct stat before {};
    struct stat made {};
    sys(::fstat(root.get(), &before), "look at the root");
    sys(::fstatat(root.get(), kProc, &made, AT_SYMLINK_NOFOLLOW), "look at the directory /proc");
    if (const int code = removeIfSame(root.get(), kProc, Inode::of(made)); code != 0)
        failWith(code, "remove the directory /proc");
    changeTimes(root.get(), before.st_atim, before.st_mtim);
    if ((mount.flags & MS_RDONLY) != 0)
        kernel::setMountFlags(root.get(), mount.flags);
    if ((mount.superFlags & MS_RDONLY) != 0)
        kernel::makeFileSystemReadOnly(root.get());
}

}  // namespace criu::namespaces
