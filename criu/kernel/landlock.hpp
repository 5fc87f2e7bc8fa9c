// SPDX-License-Identifier: GPL-2.0-only
#pragma once

/// Landlock properties (landlock(7)) that criu finds out by trying.
namespace criu::kernel {

/// Returns true if the kernel has Landlock and it is enabled.
[[nodiscard]] bool hasLandlock() noexcept;

}  // namespace criu::kernel
