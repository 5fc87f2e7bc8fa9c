// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

/// Capabilities (capabilities(7)) by libcap, which knows their names and the number that the running kernel has. Sets
/// are masks: bit N stands for capability N.
namespace criu::kernel {

/// Returns a name such as "CAP_SYS_ADMIN", or "capability 57" for one that libcap doesn't know.
[[nodiscard]] std::string capabilityName(unsigned capability);

/// Returns all capabilities that this kernel knows.
[[nodiscard]] std::uint64_t knownCapabilities();

/// Returns true if the calling thread has the capability (CAP_… of <linux/capability.h>) in its effective set. Throws
/// Error.
[[nodiscard]] bool hasCapability(unsigned capability);

}  // namespace criu::kernel
