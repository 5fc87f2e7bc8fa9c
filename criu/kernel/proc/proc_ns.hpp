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

/// Name below /proc/PID/ns: "net", "mnt" …
[[nodiscard]] std::string_view namespaceName(NamespaceKind kind) noexcept;
/// CLONE_NEW….
[[nodiscard]] int namespaceCloneFlag(NamespaceKind kind) noexcept;

/// Inode numbers of /proc/PID/ns/*: equal means the same namespace (all of them are on one nsfs). Nothing for kinds the
/// kernel lacks, and for those a zombie has left.
struct NamespaceIds {
    std::array<std::optional<std::uint32_t>, kNamespaceKinds> kinds;
    /// Where children will be born.
    std::optional<std::uint32_t> pidForChildren;
    std::optional<std::uint32_t> timeForChildren;

    [[nodiscard]] std::optional<std::uint32_t> of(NamespaceKind kind) const noexcept {
        return kinds[static_cast<std::size_t>(kind)];
    }
    friend bool operator==(const NamespaceIds&, const NamespaceIds&) = default;
};

/// Inode out of "net:[4026531833]". Throws Error on any other text.
[[nodiscard]] std::uint32_t parseNamespaceLink(std::string_view target);

/// The same of a descriptor of a namespace. Throws Error.
[[nodiscard]] std::uint32_t namespaceInode(int fd);

[[nodiscard]] std::optional<std::uint32_t> readNamespaceId(const ProcPid& task, NamespaceKind kind);
/// Whether a process is in the pid namespace with this inode or in one below it (NS_GET_PARENT, Linux 4.9).
[[nodiscard]] bool isWithinPidNamespace(const ProcPid& task, std::uint32_t inode);
[[nodiscard]] NamespaceIds readNamespaceIds(const ProcPid& task);
/// Of a thread whose process, a /proc/PID, has these. The kernel isn't asked for the kinds that all threads of a
/// process have in common: the pid namespace never changes, and only a process of one thread goes to another user or
/// time namespace.
[[nodiscard]] NamespaceIds readThreadNamespaceIds(const ProcPid& process, pid_t thread, const NamespaceIds& ofProcess);

/// The namespaces of a process that can't change them, since it stands still: the kernel is asked once for each.
class CachedNamespaceIds {
public:
    /// `task` is the same in all calls.
    [[nodiscard]] std::optional<std::uint32_t> of(const ProcPid& task, NamespaceKind kind);
    [[nodiscard]] NamespaceIds all(const ProcPid& task);

private:
    NamespaceIds known_;
    std::array<bool, kNamespaceKinds> asked_{};
    bool askedForChildren_ = false;
};

}  // namespace criu::kernel
