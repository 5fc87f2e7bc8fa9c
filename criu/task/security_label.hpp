// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/kernel/procdir.hpp"
#include "images/creds.fwd.hpp"

/// What a security module (AppArmor, SELinux, Smack) confines a process by: proc(5), /proc/PID/attr/current.
namespace criu::task {

/// Nothing where no such module is active. Throws Error.
[[nodiscard]] std::optional<std::string> securityLabel(const kernel::ProcPid& process);

/// Restored processes have criu's own label. Throws Error for a process that has another one.
void refuseOtherLabel(const kernel::ProcPid& process, const std::string& own);

/// Throws Error if the image has a label that a restored process wouldn't get.
void requireLabel(const CredsEntry& creds, const std::optional<std::string>& own);

}  // namespace criu::task
