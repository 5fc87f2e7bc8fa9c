// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>

#include "criu/kernel/proc/procdir.hpp"

/// Who may read memory of other processes (ptrace(2), "Ptrace access mode checking").
namespace criu::kernel {

/// Asks the kernel whether the calling thread may look into a thread of another process. The kernel compares file
/// system ids and effective capabilities (PTRACE_MODE_READ_FSCREDS), and looks at the dumpable flag of the memory
/// (__ptrace_may_access() in kernel/ptrace.c). FileRightsScope asks for somebody else.
[[nodiscard]] bool mayLookInto(const ProcPid& process, pid_t thread) noexcept;

/// What Yama adds to that for PTRACE_ATTACH, by the values of /proc/sys/kernel/yama/ptrace_scope.
enum class YamaScope : int { Classic = 0, Descendants = 1, Capability = 2, Nobody = 3 };

/// The text of that file; anything unknown forbids most. Nothing: the kernel has no Yama.
[[nodiscard]] YamaScope parseYamaScope(const std::optional<std::string>& text) noexcept;
[[nodiscard]] YamaScope readYamaScope();

/// Whether a process descends from another, or is it. Throws Error.
[[nodiscard]] bool descendsFrom(const ProcDir& proc, pid_t process, pid_t ancestor);

}  // namespace criu::kernel
