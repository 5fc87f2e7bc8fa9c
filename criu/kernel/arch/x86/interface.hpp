// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

/// Names and numbers of kernel interfaces that differ between processors.
namespace criu::kernel {

/// Keys of /proc/PID/status for enabled and locked control-flow protections of a thread. Empty where the kernel has
/// no such lines.
inline constexpr std::string_view kProtectionLine = "x86_Thread_features";
inline constexpr std::string_view kLockedProtectionLine = "x86_Thread_features_locked";

/// O_LARGEFILE of the kernel; libc defines it as 0 for 64-bit programs.
inline constexpr int kLargeFile = 0100000;

}  // namespace criu::kernel
