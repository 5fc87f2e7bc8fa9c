// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Line of /proc/PID/mountinfo (proc_pid_mountinfo(5)) with decoded escapes. Paths begin at the root directory of the
/// task PID. The kernel omits mounts outside of this root directory.
struct MountInfo {
    int id = 0;
    /// Id of the parent mount. For the topmost mount, this is its own id or the id of a mount that isn't listed.
    int parentId = 0;
    std::uint32_t devMajor = 0;
    std::uint32_t devMinor = 0;
    /// Directory or file of the file system that the mount shows as its root. The path may end with "//deleted". For
    /// nsfs, it is "net:[…]".
    std::string root;
    std::string mountPoint;
    /// Options of the mount (not of the superblock), as text and as MS_… bits.
    std::string options;
    std::uint64_t flags = 0;
    /// Id of the mount's peer group; 0 if the mount isn't shared.
    int shared = 0;
    /// Id of the peer group of the mount's master; 0 if the mount isn't a slave.
    int master = 0;
    /// Id of the nearest peer group from which the mount gets events and that has a mount under the task's root; 0 if
    /// the kernel doesn't show it.
    int propagateFrom = 0;
    bool unbindable = false;
    /// Type of the file system, as "type" or "type.subtype".
    std::string fsType;
    /// Source of the mount; may be empty.
    std::string source;
    /// Options of the superblock: flags, and then options that the file system itself defines.
    std::string superOptions;

    friend bool operator==(const MountInfo&, const MountInfo&) = default;
};

/// Table of all mounts that a task sees, in the kernel's order. A mount comes after its parent, unless it was moved.
class MountTable {
public:
    explicit MountTable(std::vector<MountInfo> mounts);

    [[nodiscard]] const std::vector<MountInfo>& all() const& noexcept { return mounts_; }
    const std::vector<MountInfo>& all() const&& = delete;
    /// Returns the mount with this id; the pointer is valid as long as the table. Returns null if there is none: the
    /// mount is in another namespace, or outside of the root directory.
    [[nodiscard]] const MountInfo* find(int mountId) const noexcept;

private:
    std::vector<MountInfo> mounts_;
    /// Indices into mounts_, sorted by mount id.
    std::vector<std::uint32_t> byId_;
};

[[nodiscard]] std::vector<MountInfo> parseMountInfo(std::string_view text);
[[nodiscard]] MountTable readMountInfo(const ProcPid& task, ProcBuffer& buffer);

/// Returns true if `fsType` is a userspace file system (FUSE). The process of such a file system may reply late or
/// never.
[[nodiscard]] bool hasServer(std::string_view fsType) noexcept;
/// Returns true if `fsType` is a userspace file system or a remote file system (NFS and similar, virtiofs).
[[nodiscard]] bool isRemoteFileSystem(std::string_view fsType) noexcept;

/// Returns true if `wanted` accepts one of the file system types in mountinfo. Parses only the types.
[[nodiscard]] bool anyMountIs(std::string_view mountInfo, bool (*wanted)(std::string_view fsType) noexcept) noexcept;

/// Returns the MS_… bits of a comma-separated option list. Ignores other options.
[[nodiscard]] std::uint64_t mountFlags(std::string_view options) noexcept;

}  // namespace criu::kernel
