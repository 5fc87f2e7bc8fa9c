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

/// Mounts as descriptors: open_tree(2), fsopen(2) and their family (Linux 5.2; mount_setattr(2): 5.12). A mount made
/// here is attached nowhere, and gone when its descriptor is closed, until attachMount() puts it somewhere.
namespace criu::kernel {

/// A new mount of what a descriptor (O_PATH will do) was opened on, beginning at that directory or file, without what
/// is mounted below it. A mount that shares events has a new peer by this.
[[nodiscard]] UniqueFd cloneMount(int fd);

/// The same for a path below a directory: no symbolic link is followed, and nothing outside of the directory is reached
/// (openBelow()).
[[nodiscard]] UniqueFd cloneMountBelow(int directory, const std::string& path);

/// The same with all that is mounted below.
[[nodiscard]] UniqueFd cloneMountsBelow(int directory, const std::string& path);

/// The same for a path that the user of criu has given, who may name symbolic links.
[[nodiscard]] UniqueFd cloneMountAt(const std::string& path);

/// What a file system is made of.
struct FileSystemParts {
    std::string type;
    std::string source;            ///< empty: none
    std::string options;           ///< the file system's own, separated by commas
    std::uint64_t superFlags = 0;  ///< MS_RDONLY, MS_SYNCHRONOUS, MS_DIRSYNC, MS_LAZYTIME of the file system
    /// Options whose value is what a descriptor refers to. They stay the caller's.
    std::vector<std::pair<std::string, int>> descriptors = {};
};

/// A mount of a file system of this kind: of a new one, or of the only one that there is of the kind. What the kernel
/// says about a failure is in the Error.
[[nodiscard]] UniqueFd mountFileSystem(const FileSystemParts& parts);

/// Makes the file system of a mount read-only.
void makeFileSystemReadOnly(int mount);

/// Puts a mount on a directory or file that a descriptor refers to.
void attachMount(int mount, int place);

/// The same for a path below a directory, on which no symbolic link may be (openBelow()).
void attachMountBelow(int mount, int directory, const std::string& path);

/// Since when the kernel has all calls that a mount namespace is restored by: the last of them to come was
/// MOVE_MOUNT_SET_GROUP of move_mount(2), see joinPropagation().
inline constexpr std::string_view kMountNamespacesSince = "Linux 5.15";

/// Whether this kernel has them. Asks as the calling thread, which needs CAP_SYS_ADMIN as a restore does.
[[nodiscard]] bool canRestoreMountNamespaces() noexcept;

/// Sets MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_NOSYMFOLLOW and those of access times of a mount; others off.
void setMountFlags(int mount, std::uint64_t flags);

/// MS_SHARED, MS_SLAVE, MS_PRIVATE or MS_UNBINDABLE.
void setPropagation(int mount, std::uint64_t kind);

/// A mount and all below it are private from now on.
void makePrivateBelow(int mount);

/// Has `to`, a private mount, get and send events as `from` does, of whose file system it shows the same or a part
/// (Linux 5.15).
void joinPropagation(int from, int to);

/// The kernel's number of the mount a descriptor was opened through; nothing before Linux 5.8.
[[nodiscard]] std::optional<int> mountIdOf(int fd);

/// Whether a descriptor leads to the root of a mount. No before Linux 5.8, where the kernel doesn't tell.
[[nodiscard]] bool isMountRoot(int fd);

/// Runs `work` in a thread that is in another mount namespace, with its root as root and current directory. What it
/// throws is thrown here.
void runInMountNamespace(int target, const std::function<void()>& work);

}  // namespace criu::kernel
