// SPDX-License-Identifier: GPL-2.0-only
#pragma once

/// Landlock features (landlock(7)) that criu detects by system calls.
namespace criu::kernel {

/// Returns true if the kernel has Landlock and Landlock is enabled.
[[nodiscard]] bool hasLandlock() noexcept;

}  // namespace criu::kernel
