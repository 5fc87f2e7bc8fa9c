// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>

/// The namespace init: first process of a pid namespace that criu created by restore --new-pidns, for a tree whose root
/// doesn't have pid 1. It has a few pages of memory, and no descriptors, code or data of criu.
namespace criu::pie {

/// Arguments of the namespace init, which it reads from its memory.
struct NamespaceInit {
    std::int32_t root = 0;  ///< pid of the root of the tree, a child of the init; the init exits when the root ends
    /// Descriptor from which the init reads: a byte means that the restore has succeeded, end of file that it has
    /// failed.
    std::int32_t channel = 0;
    /// Ranges of addresses that the init unmaps first: from 0 to `belowEnd`, and from `aboveStart` to `aboveEnd`.
    std::uint64_t belowEnd = 0;
    std::uint64_t aboveStart = 0;
    std::uint64_t aboveEnd = 0;
};

/// Process name of the namespace init. A dump recognizes the init by this name and by kNamespaceInitTitle.
inline constexpr const char* kNamespaceInitName = "criu-init";
inline constexpr const char* kNamespaceInitTitle = "criu: init of a restored tree";

/// Turns the calling process into a namespace init. The process must have one thread and block all signals. The init
/// - reaps orphans, and exits with the status of `root`, or with 128 plus the signal that killed `root`. The kernel
///   then kills all other processes of the namespace (zap_pid_ns_processes());
/// - forwards signals from outside of the namespace to `root`, except SIGCHLD, SIGTTIN, SIGTTOU and signals of the
///   kernel. It ignores signals from inside;
/// - keeps `channel` and its memory until the restore has succeeded, and exits if the other end closes before.
/// Throws Error if it can't allocate its memory.
[[noreturn]] void becomeNamespaceInit(pid_t root, int channel);

}  // namespace criu::pie
