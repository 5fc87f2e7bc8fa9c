// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

enum class NamespaceKind : std::uint8_t { Net, Uts, Ipc, Pid, User, Mount, Cgroup, Time };
inline constexpr std::size_t kNamespaceKinds = 8;

/// Returns the name below /proc/PID/ns: "net", "mnt" …
[[nodiscard]] std::string_view namespaceName(NamespaceKind kind) noexcept;
/// Returns CLONE_NEW….
[[nodiscard]] int namespaceCloneFlag(NamespaceKind kind) noexcept;

/// Inode numbers of /proc/PID/ns/*. Equal numbers mean the same namespace, because all are on one nsfs. Unset for
/// kinds that the kernel lacks, or that a zombie has left.
struct NamespaceIds {
    std::array<std::optional<std::uint32_t>, kNamespaceKinds> kinds;
    /// Namespaces of future children.
    std::optional<std::uint32_t> pidForChildren;
    std::optional<std::uint32_t> timeForChildren;

    [[nodiscard]] std::optional<std::uint32_t> of(NamespaceKind kind) const noexcept {
        return kinds[static_cast<std::size_t>(kind)];
    }
    friend bool operator==(const NamespaceIds&, const NamespaceIds&) = default;
};

/// Parses the inode in "net:[4026531833]". Throws Error on any other text.
[[nodiscard]] std::uint32_t parseNamespaceLink(std::string_view target);

/// Returns the inode of a namespace descriptor. Throws Error.
[[nodiscard]] std::uint32_t namespaceInode(int fd);

[[nodiscard]] std::optional<std::uint32_t> readNamespaceId(const ProcPid& task, NamespaceKind kind);
/// Returns true if a process is in the pid namespace with this inode or in one below it (NS_GET_PARENT, Linux 4.9).
[[nodiscard]] bool isWithinPidNamespace(const ProcPid& task, std::uint32_t inode);
[[nodiscard]] NamespaceIds readNamespaceIds(const ProcPid& task);
/// Reads the namespaces of a thread. `process`: /proc/PID of its process, which has the namespaces `ofProcess`.
/// Copies the kinds that all threads share: the pid namespace never changes, and a multithreaded process can't change
/// its user or time namespace.
[[nodiscard]] NamespaceIds readThreadNamespaceIds(const ProcPid& process, pid_t thread, const NamespaceIds& ofProcess);

/// Cached namespaces of a frozen process; each link is read once.
class CachedNamespaceIds {
public:
    /// All calls must pass the same `task`.
    [[nodiscard]] std::optional<std::uint32_t> of(const ProcPid& task, NamespaceKind kind);
    [[nodiscard]] NamespaceIds all(const ProcPid& task);

private:
    NamespaceIds known_;
    std::array<bool, kNamespaceKinds> asked_{};
    bool askedForChildren_ = false;
};

}  // namespace criu::kernel
