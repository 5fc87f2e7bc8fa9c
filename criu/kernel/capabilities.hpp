// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

/// Functions for capabilities (capabilities(7)), by libcap. A set of capabilities is a mask in which bit N stands for
/// capability N.
namespace criu::kernel {

/// Returns a name such as "CAP_SYS_ADMIN"; "capability 57" if libcap doesn't know capability 57.
[[nodiscard]] std::string capabilityName(unsigned capability);

/// Returns the mask of all capabilities that this kernel knows.
[[nodiscard]] std::uint64_t knownCapabilities();

/// Returns true if the effective set of the calling thread contains the capability (CAP_… of <linux/capability.h>).
/// Throws Error.
[[nodiscard]] bool hasCapability(unsigned capability);

}  // namespace criu::kernel
