// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Line of /proc/PID/mountinfo (proc_pid_mountinfo(5)) with decoded escapes. Paths are relative to the root of the
/// file's task. The kernel omits mounts outside of that root.
struct MountInfo {
    int id = 0;
    /// Id of the parent. The topmost mount has its own id, or the id of an unlisted mount.
    int parentId = 0;
    std::uint32_t devMajor = 0;
    std::uint32_t devMinor = 0;
    /// Directory or file of the file system that is the mount's root; may end in "//deleted". nsfs has "net:[…]".
    std::string root;
    std::string mountPoint;
    /// Per-mount options, as text and as MS_… bits.
    std::string options;
    std::uint64_t flags = 0;
    /// Id of the mount's peer group; 0 if not shared.
    int shared = 0;
    /// Id of its master's peer group; 0 if not a slave.
    int master = 0;
    /// Nearest dominant peer group under the reader's root; 0 if not printed.
    int propagateFrom = 0;
    bool unbindable = false;
    /// "type" or "type.subtype".
    std::string fsType;
    /// May be empty.
    std::string source;
    /// Per-superblock options: flags, then options of the file system itself.
    std::string superOptions;

    friend bool operator==(const MountInfo&, const MountInfo&) = default;
};

/// All mounts that a task sees, in the kernel's order. A mount follows its parent unless it was moved.
class MountTable {
public:
    explicit MountTable(std::vector<MountInfo> mounts);

    [[nodiscard]] const std::vector<MountInfo>& all() const& noexcept { return mounts_; }
    const std::vector<MountInfo>& all() const&& = delete;
    /// Returns null for an unlisted id: another namespace, or outside the root. The pointer is valid as long as the
    /// table.
    [[nodiscard]] const MountInfo* find(int mountId) const noexcept;

private:
    std::vector<MountInfo> mounts_;
    /// Indices into mounts_, by id.
    std::vector<std::uint32_t> byId_;
};

[[nodiscard]] std::vector<MountInfo> parseMountInfo(std::string_view text);
[[nodiscard]] MountTable readMountInfo(const ProcPid& task, ProcBuffer& buffer);

/// Returns true for types of userspace file systems (FUSE), whose process may answer late or never.
[[nodiscard]] bool hasServer(std::string_view fsType) noexcept;
/// Returns true for userspace file systems and for remote ones (NFS and similar, virtiofs).
[[nodiscard]] bool isRemoteFileSystem(std::string_view fsType) noexcept;

/// Returns true if mountinfo contains a type that `wanted` accepts. Parses only the types.
[[nodiscard]] bool anyMountIs(std::string_view mountInfo, bool (*wanted)(std::string_view fsType) noexcept) noexcept;

/// Returns the MS_… bits of a comma-separated option list. Ignores other options.
[[nodiscard]] std::uint64_t mountFlags(std::string_view options) noexcept;

}  // namespace criu::kernel
