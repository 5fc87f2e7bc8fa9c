// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

/// Capabilities (capabilities(7)) by libcap, which knows their names and how many the running kernel has. Sets are
/// masks: bit N stands for capability N.
namespace criu::kernel {

/// "CAP_SYS_ADMIN"; "capability 57" for one that the library doesn't know.
[[nodiscard]] std::string capabilityName(unsigned capability);

/// All capabilities that this kernel knows.
[[nodiscard]] std::uint64_t knownCapabilities();

/// Whether the calling thread has a capability (CAP_… of <linux/capability.h>) in effect. Throws Error.
[[nodiscard]] bool hasCapability(unsigned capability);

/// Throws Error (EPERM) that names the capability and `purpose` unless the calling thread has it in effect.
void requireCapability(unsigned capability, const char* purpose);

}  // namespace criu::kernel
