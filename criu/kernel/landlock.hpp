// SPDX-License-Identifier: GPL-2.0-only
#pragma once

/// What of Landlock (landlock(7)) can be seen by trying.
namespace criu::kernel {

/// The kernel has Landlock, and it is switched on.
[[nodiscard]] bool hasLandlock() noexcept;

/// How many domains, one in the other, a process of criu could enter. Throws Error.
[[nodiscard]] int freeLandlockLayers();

}  // namespace criu::kernel
