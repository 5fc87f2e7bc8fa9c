// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <linux/audit.h>

#include <cstdint>
#include <string_view>

/// Names and numbers of kernel interfaces that differ between processors.
namespace criu::kernel {

/// Keys of the lines in /proc/PID/status that show the enabled and the locked control-flow protections of a thread.
/// These strings are empty on architectures whose kernel shows no such lines.
inline constexpr std::string_view kProtectionLine;
inline constexpr std::string_view kLockedProtectionLine;

/// Value of O_LARGEFILE in the kernel; libc defines O_LARGEFILE as 0 for 64-bit programs.
inline constexpr int kLargeFile = 0400000;

/// Architecture in the calls of 64-bit programs that a seccomp filter gets (seccomp_data.arch).
inline constexpr std::uint32_t kAuditArch = AUDIT_ARCH_AARCH64;

}  // namespace criu::kernel
