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

/// Functions that handle mounts by descriptors: open_tree(2), fsopen(2) and related calls (Linux 5.2; mount_setattr(2):
/// 5.12). A new mount isn't attached. If attachMount() doesn't attach it, the kernel removes the mount together with
/// its descriptor.
namespace criu::kernel {

/// Clones the mount of a descriptor, without submounts; an O_PATH descriptor suffices. The descriptor's file or
/// directory becomes the root of the clone. If the mount is shared, the clone joins its peer group.
[[nodiscard]] UniqueFd cloneMount(int fd);

/// Clones the mount at a path below a directory, without submounts. Follows no symbolic links and never leaves the
/// directory (openBelow()).
[[nodiscard]] UniqueFd cloneMountBelow(int directory, const std::string& path);

/// Clones the mount at a path below a directory, with all submounts.
[[nodiscard]] UniqueFd cloneMountsBelow(int directory, const std::string& path);

/// Clones the mount at a path that the user of criu has passed. Follows symbolic links.
[[nodiscard]] UniqueFd cloneMountAt(const std::string& path);

/// Arguments of a new file system.
struct FileSystemParts {
    std::string type;
    std::string source;            ///< source of the mount; empty if it has none
    std::string options;           ///< options that the file system itself parses, separated by commas
    std::uint64_t superFlags = 0;  ///< MS_RDONLY, MS_SYNCHRONOUS, MS_DIRSYNC and MS_LAZYTIME of the superblock
    /// Options whose value is a descriptor: the name and the descriptor. The caller keeps the descriptors open.
    std::vector<std::pair<std::string, int>> descriptors = {};
};

/// Mounts a new file system, or the existing instance if the type has only one instance. Throws Error with the kernel's
/// messages.
[[nodiscard]] UniqueFd mountFileSystem(const FileSystemParts& parts);

/// Makes the superblock of a mount read-only.
void makeFileSystemReadOnly(int mount);

/// Attaches a mount to the directory or file to which the descriptor `place` refers.
void attachMount(int mount, int place);

/// Attaches a mount to a path below a directory. The path must contain no symbolic link (openBelow()).
void attachMountBelow(int mount, int directory, const std::string& path);

/// First kernel with all calls that a restore of mount namespaces needs. The newest of them is move_mount(2) with
/// MOVE_MOUNT_SET_GROUP, which joinPropagation() uses.
inline constexpr std::string_view kMountNamespacesSince = "Linux 5.15";

/// Returns true if this kernel can restore mount namespaces (kMountNamespacesSince). The calling thread needs
/// CAP_SYS_ADMIN.
[[nodiscard]] bool canRestoreMountNamespaces() noexcept;

/// Sets MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_NOSYMFOLLOW and the access time flags of a mount to `flags`.
void setMountFlags(int mount, std::uint64_t flags);

/// Sets the propagation type: MS_SHARED, MS_SLAVE, MS_PRIVATE or MS_UNBINDABLE.
void setPropagation(int mount, std::uint64_t kind);

/// Makes a mount and all submounts private.
void makePrivateBelow(int mount);

/// Adds the private mount `to` to the peer group of `from`, and gives it the master mount of `from`. `to` must show the
/// file system of `from` or a part of it (Linux 5.15).
void joinPropagation(int from, int to);

/// Returns the kernel's id of the mount by which a descriptor was opened; nullopt before Linux 5.8.
[[nodiscard]] std::optional<int> mountIdOf(int fd);

/// Returns true if a descriptor refers to the root of a mount. Always returns false before Linux 5.8, because the
/// kernel doesn't report this there.
[[nodiscard]] bool isMountRoot(int fd);

/// Runs `work` in a new thread in the mount namespace `target`. The root of this namespace becomes the root and current
/// directory of the thread. Rethrows exceptions of `work`.
void runInMountNamespace(int target, const std::function<void()>& work);

}  // namespace criu::kernel
