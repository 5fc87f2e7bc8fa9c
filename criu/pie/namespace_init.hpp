// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>

/// The first process of a pid namespace that criu has made for a tree whose root isn't to be the first (restore
/// --new-pidns). It is small: its memory is some pages, it has no descriptors, and it uses nothing of criu's.
namespace criu::pie {

/// What it is told; lies in its own memory.
struct NamespaceInit {
    std::int32_t root = 0;     ///< its child, with which it ends
    std::int32_t channel = 0;  ///< descriptor: a byte says that the restore has come through, its end that it has not
    /// Memory that isn't the init's, as addresses: it is given up first.
    std::uint64_t belowEnd = 0;
    std::uint64_t aboveStart = 0;
    std::uint64_t aboveEnd = 0;
};

/// By the name, and the first words that ps(1) shows, dumps recognize it.
inline constexpr const char* kNamespaceInitName = "criu-init";
inline constexpr const char* kNamespaceInitTitle = "criu: init of a restored tree";

/// The calling process, which has one thread and whose signals are blocked, is such an init from here on:
/// - it reaps whoever is given to it as an orphan, and ends with the exit status of `root` when that ends, with 128 and
///   the signal's number if it was killed; by which the kernel ends all others of the namespace;
/// - signals from outside of the namespace go on to `root`, except SIGCHLD, those of the terminal's control of jobs
///   (SIGTTIN, SIGTTOU) and those that the kernel itself sends; signals from inside do nothing;
/// - `channel` and its memory stay until the restore has come through; it ends if the other side is closed before.
/// Throws Error if there is no memory for it.
[[noreturn]] void becomeNamespaceInit(pid_t root, int channel);

}  // namespace criu::pie
