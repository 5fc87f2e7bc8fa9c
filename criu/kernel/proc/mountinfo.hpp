// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// A line of /proc/PID/mountinfo (proc_pid_mountinfo(5)), escapes decoded. Paths are relative to the root of the task
/// whose file it is; mounts outside of that root aren't listed.
struct MountInfo {
    int id = 0;
    /// Equal to `id`, or the id of a mount not listed, for the topmost one.
    int parentId = 0;
    std::uint32_t devMajor = 0;
    std::uint32_t devMinor = 0;
    /// Directory (or file) of the file system that is mounted here; may end in "//deleted". nsfs has "net:[…]".
    std::string root;
    std::string mountPoint;
    /// Per-mount options, as text and as the MS_… bits they stand for.
    std::string options;
    std::uint64_t flags = 0;
    /// Peer group this mount sends events to, 0 if not shared.
    int shared = 0;
    /// Peer group it gets events from, 0 if no slave.
    int master = 0;
    /// Nearest peer group under the reader's root, 0 if not printed.
    int propagateFrom = 0;
    bool unbindable = false;
    /// "type" or "type.subtype".
    std::string fsType;
    /// May be empty.
    std::string source;
    /// Per-superblock options; text after the flags is the file system's own.
    std::string superOptions;

    friend bool operator==(const MountInfo&, const MountInfo&) = default;
};

/// All mounts a task sees, in the kernel's order (a mount comes after its parent unless moved).
class MountTable {
public:
    explicit MountTable(std::vector<MountInfo> mounts);

    [[nodiscard]] const std::vector<MountInfo>& all() const& noexcept { return mounts_; }
    const std::vector<MountInfo>& all() const&& = delete;
    /// Null if there is none of this id: it is in another namespace, or outside the root. Valid while the table is.
    [[nodiscard]] const MountInfo* find(int mountId) const noexcept;

private:
    std::vector<MountInfo> mounts_;
    /// Indices into mounts_, by id.
    std::vector<std::uint32_t> byId_;
};

[[nodiscard]] std::vector<MountInfo> parseMountInfo(std::string_view text);
[[nodiscard]] MountTable readMountInfo(const ProcPid& task, ProcBuffer& buffer);

/// Whether a process answers for file systems of this type (FUSE), which may be slow to, or never do.
[[nodiscard]] bool hasServer(std::string_view fsType) noexcept;
/// Whether that or another machine does (NFS and its like, virtiofs).
[[nodiscard]] bool isRemoteFileSystem(std::string_view fsType) noexcept;

/// Whether the text of a mountinfo has one of a type that `wanted` says yes to. Looks at nothing else.
[[nodiscard]] bool anyMountIs(std::string_view mountInfo, bool (*wanted)(std::string_view fsType) noexcept) noexcept;

/// MS_… bits of a comma-separated list of options; names that stand for no bit are passed over.
[[nodiscard]] std::uint64_t mountFlags(std::string_view options) noexcept;

}  // namespace criu::kernel
