// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>

#include "criu/kernel/proc/procdir.hpp"

/// Checks whether a process may access the memory of another one (ptrace(2), "Ptrace access mode checking").
namespace criu::kernel {

/// Returns true if the kernel lets the calling thread read the memory of a thread of another process. The kernel
/// compares file system ids and effective capabilities (PTRACE_MODE_READ_FSCREDS). It also checks the dumpable flag
/// (__ptrace_may_access() in kernel/ptrace.c). To check the access of another user, call it within a FileRightsScope.
[[nodiscard]] bool mayLookInto(const ProcPid& process, pid_t thread) noexcept;

/// Additional restrictions of the Yama module on PTRACE_ATTACH: the values of /proc/sys/kernel/yama/ptrace_scope.
enum class YamaScope : int { Classic = 0, Descendants = 1, Capability = 2, Nobody = 3 };

/// Parses the text of ptrace_scope. Returns the strictest scope for unknown values. Returns Classic for nullopt,
/// because the kernel then lacks Yama.
[[nodiscard]] YamaScope parseYamaScope(const std::optional<std::string>& text) noexcept;
[[nodiscard]] YamaScope readYamaScope();

/// Returns true if `process` is a descendant of `ancestor`, or is `ancestor`. Throws Error.
[[nodiscard]] bool descendsFrom(const ProcDir& proc, pid_t process, pid_t ancestor);

}  // namespace criu::kernel
