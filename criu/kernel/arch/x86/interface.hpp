// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

/// What the kernel's interfaces call by another name, or number in another way, on each processor.
namespace criu::kernel {

/// Lines of /proc/PID/status that list the control-flow protections of a thread: those switched on, and those that it
/// can't switch any more. Empty where the kernel has no such lines.
inline constexpr std::string_view kProtectionLine = "x86_Thread_features";
inline constexpr std::string_view kLockedProtectionLine = "x86_Thread_features_locked";

/// O_LARGEFILE as the kernel counts it; libc's is 0 for 64-bit programs.
inline constexpr int kLargeFile = 0100000;

}  // namespace criu::kernel
