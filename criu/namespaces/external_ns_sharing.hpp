// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace criu::kernel {
enum class NamespaceKind : std::uint8_t;
}

namespace criu::namespaces {

struct DumpInputs;

/// A restore makes all namespaces anew that processes are in but the root isn't. Whoever shares one with the outside
/// would come back apart from that, in a copy. Throws Error for mount and network namespaces that somebody else is in,
/// too, or that have a name, and warns of others; of all if the tree goes on.
void requireNoExternalSharing(const DumpInputs& inputs);

/// Who has a namespace that no process of the tree is in, so that a restore of what holds it there would make a copy:
/// "is called /run/netns/blue outside". Nothing if there is nobody. Throws Error.
[[nodiscard]] std::optional<std::string> externalHolder(kernel::NamespaceKind kind, std::uint32_t inode);

}  // namespace criu::namespaces
