// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// Mounts as descriptors: open_tree(2), fsopen(2) and related calls (Linux 5.2; mount_setattr(2): 5.12). A new mount
/// is attached nowhere, and vanishes with its descriptor unless attachMount() attaches it.
namespace criu::kernel {

/// Clones the mount of a descriptor, without submounts; an O_PATH descriptor suffices. The descriptor's file or
/// directory becomes the root. A clone of a shared mount joins its peer group.
[[nodiscard]] UniqueFd cloneMount(int fd);

/// Clones the mount of a path below a directory, without submounts. Follows no symbolic links and never leaves the
/// directory (openBelow()).
[[nodiscard]] UniqueFd cloneMountBelow(int directory, const std::string& path);

/// Clones the mount of a path below a directory with all submounts.
[[nodiscard]] UniqueFd cloneMountsBelow(int directory, const std::string& path);

/// Clones the mount of a path that the user of criu has given. Follows symbolic links.
[[nodiscard]] UniqueFd cloneMountAt(const std::string& path);

/// Arguments of a new file system.
struct FileSystemParts {
    std::string type;
    std::string source;            ///< empty: no source
    std::string options;           ///< options of the file system itself, separated by commas
    std::uint64_t superFlags = 0;  ///< MS_RDONLY, MS_SYNCHRONOUS, MS_DIRSYNC, MS_LAZYTIME of the superblock
    /// Options whose value is a descriptor. The caller keeps these open.
    std::vector<std::pair<std::string, int>> descriptors = {};
};

/// Mounts a new file system, or the existing instance of a single-instance type. Throws Error with the kernel's
/// messages.
[[nodiscard]] UniqueFd mountFileSystem(const FileSystemParts& parts);

/// Makes the superblock of a mount read-only.
void makeFileSystemReadOnly(int mount);

/// Attaches a mount to the directory or file of a descriptor.
void attachMount(int mount, int place);

/// Attaches a mount to a path below a directory. The path must contain no symbolic link (openBelow()).
void attachMountBelow(int mount, int directory, const std::string& path);

/// First kernel with all calls that restore a mount namespace. The newest is MOVE_MOUNT_SET_GROUP of move_mount(2);
/// see joinPropagation().
inline constexpr std::string_view kMountNamespacesSince = "Linux 5.15";

/// Returns true if this kernel has these calls. The calling thread needs CAP_SYS_ADMIN, as for a restore.
[[nodiscard]] bool canRestoreMountNamespaces() noexcept;

/// Sets MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_NOSYMFOLLOW and the access time flags of a mount to `flags`.
void setMountFlags(int mount, std::uint64_t flags);

/// Sets the propagation: MS_SHARED, MS_SLAVE, MS_PRIVATE or MS_UNBINDABLE.
void setPropagation(int mount, std::uint64_t kind);

/// Makes a mount and all submounts private.
void makePrivateBelow(int mount);

/// Adds `to`, a private mount, to the peer group and master mount of `from`. `to` shows the same file system or a
/// part of it (Linux 5.15).
void joinPropagation(int from, int to);

/// Returns the kernel's id of the mount that a descriptor was opened through; nullopt before Linux 5.8.
[[nodiscard]] std::optional<int> mountIdOf(int fd);

/// Returns true if a descriptor refers to the root of a mount. False before Linux 5.8, which doesn't report it.
[[nodiscard]] bool isMountRoot(int fd);

/// Runs `work` in a thread in another mount namespace, whose root becomes root and current directory. Rethrows
/// exceptions of `work`.
void runInMountNamespace(int target, const std::function<void()>& work);

}  // namespace criu::kernel
