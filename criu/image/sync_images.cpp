// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/sync_images.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "criu/kernel/file_rights.hpp"

namespace criu {
namespace {

void syncDirectory(const ImageDir& images, const std::function<void()>& checkStop) {
    const std::vector<std::string> names = namesIn(images);
    const auto rights = images.takeRights();
    for (const std::string& name : names) {
        checkStop();
        struct stat status {};
        if (::fstatat(images.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
            continue;
        const UniqueFd file(::openat(images.fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        // criu may read each file that it has created, so this file belongs to another user.
        if (!file && errno == EACCES)
            continue;
        sys(file.get(), "open {} in {}", name, images.name());
        sys(::fsync(file.get()), "write {} in {} to the disk", name, images.name());
    }
    sys(::fsync(images.fd()), "write {} to the disk", images.name());
}

Inode inodeOf(const ImageDir& images) {
    struct stat status {};
    sys(::fstat(images.fd(), &status), "stat {}", images.name());
    return Inode::of(status);
}

}  // namespace

bool isOnDisk(const ImageDir& images) {
    struct statfs status {};
    sys(::fstatfs(images.fd(), &status), "find the file system of {}", images.name());
    return status.f_type != TMPFS_MAGIC && status.f_type != RAMFS_MAGIC;
}

void syncImages(const ImageDir& images, const std::function<void()>& checkStop) {
    syncDirectory(images, checkStop);
    // Stops at a directory that it has already synced, because "parent" links may form a cycle.
    std::vector<Inode> known{inodeOf(images)};
    for (std::optional<ImageDir> parent = images.openParent(); parent; parent = parent->openParent()) {
        const Inode inode = inodeOf(*parent);
        if (std::find(known.begin(), known.end(), inode) != known.end())
            return;
        known.push_back(inode);
        syncDirectory(*parent, checkStop);
    }
}

}  // namespace criu
