// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>

#include "criu/kernel/proc/procdir.hpp"

/// Access checks for the memory of other processes (ptrace(2), "Ptrace access mode checking").
namespace criu::kernel {

/// Returns true if the kernel lets the calling thread read a thread of another process. The kernel compares file
/// system ids and effective capabilities (PTRACE_MODE_READ_FSCREDS). It also checks the dumpable flag
/// (__ptrace_may_access() in kernel/ptrace.c). FileRightsScope makes the check for another user.
[[nodiscard]] bool mayLookInto(const ProcPid& process, pid_t thread) noexcept;

/// Additional rules of Yama for PTRACE_ATTACH: values of /proc/sys/kernel/yama/ptrace_scope.
enum class YamaScope : int { Classic = 0, Descendants = 1, Capability = 2, Nobody = 3 };

/// Parses that file; unknown values mean the strictest scope. Nullopt means that the kernel lacks Yama.
[[nodiscard]] YamaScope parseYamaScope(const std::optional<std::string>& text) noexcept;
[[nodiscard]] YamaScope readYamaScope();

/// Returns true if a process descends from another or equals it. Throws Error.
[[nodiscard]] bool descendsFrom(const ProcDir& proc, pid_t process, pid_t ancestor);

}  // namespace criu::kernel
