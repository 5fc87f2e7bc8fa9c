// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "images/mm.hpp"

namespace criu {
class Log;
}

/// Protection bits of images that not every kernel knows.
namespace criu::memory {

/// Value of PROT_BTI (asm/mman.h of arm64): code whose indirect jumps may reach landing pads only.
inline constexpr int kProtectBranchTargets = 0x10;

/// Returns the protection of a restored mapping: that of the image, without bits that this kernel or processor doesn't
/// know.
int protectionOf(const VmaEntry& vma) noexcept;

/// Warns of bits that protectionOf() omits for the mappings of a process.
void warnOfLostProtection(const MmEntry& mm, Log& log);

}  // namespace criu::memory
