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

/// Returns the name of the link in /proc/PID/ns, such as "net" or "mnt".
[[nodiscard]] std::string_view namespaceName(NamespaceKind kind) noexcept;
/// Returns the CLONE_NEW… flag of the kind.
[[nodiscard]] int namespaceCloneFlag(NamespaceKind kind) noexcept;

/// Inode numbers of the links in /proc/PID/ns. Equal numbers mean the same namespace, because all namespaces are in one
/// nsfs. A number is unset if the kernel lacks the namespace kind, or if the task is a zombie that has left the
/// namespace.
struct NamespaceIds {
    std::array<std::optional<std::uint32_t>, kNamespaceKinds> kinds;
    /// Namespaces in which the kernel creates the next child of the task.
    std::optional<std::uint32_t> pidForChildren;
    std::optional<std::uint32_t> timeForChildren;

    [[nodiscard]] std::optional<std::uint32_t> of(NamespaceKind kind) const noexcept {
        return kinds[static_cast<std::size_t>(kind)];
    }
    friend bool operator==(const NamespaceIds&, const NamespaceIds&) = default;
};

/// Parses a link text such as "net:[4026531833]", and returns its inode number. Throws Error for any other text.
[[nodiscard]] std::uint32_t parseNamespaceLink(std::string_view target);

/// Returns the inode number of the namespace to which a descriptor refers. Throws Error.
[[nodiscard]] std::uint32_t namespaceInode(int fd);

[[nodiscard]] std::optional<std::uint32_t> readNamespaceId(const ProcPid& task, NamespaceKind kind);
/// Returns true if the process is in the pid namespace with this inode, or in a descendant of this namespace
/// (NS_GET_PARENT, Linux 4.9).
[[nodiscard]] bool isWithinPidNamespace(const ProcPid& task, std::uint32_t inode);
[[nodiscard]] NamespaceIds readNamespaceIds(const ProcPid& task);
/// Reads the namespaces of one thread. `process`: directory of its process. `ofProcess`: namespaces of its process. For
/// kinds in which all threads are in one namespace, copies the number from `ofProcess`: the pid namespace never
/// changes, and a multithreaded process can't change its user or time namespace.
[[nodiscard]] NamespaceIds readThreadNamespaceIds(const ProcPid& process, pid_t thread, const NamespaceIds& ofProcess);

/// Namespaces of a frozen process; reads each link once and stores the result.
class CachedNamespaceIds {
public:
    /// Returns the inode number of the namespace; unset if the kernel lacks the kind. All calls must pass the same
    /// `task`.
    [[nodiscard]] std::optional<std::uint32_t> of(const ProcPid& task, NamespaceKind kind);
    [[nodiscard]] NamespaceIds all(const ProcPid& task);

private:
    NamespaceIds known_;
    std::array<bool, kNamespaceKinds> asked_{};
    bool askedForChildren_ = false;
};

}  // namespace criu::kernel
