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

/// Checks non-root namespaces for external sharing. A restore creates new namespaces for them, so the restored
/// processes would be cut off from the external ones. Throws Error for mount and network namespaces that an external
/// process is in, or that are mounted at a path. Warns of the other kinds, and of all kinds if the tree keeps running.
void requireNoExternalSharing(const DumpInputs& inputs);

/// Describes the external holder of a namespace that no process of the tree is in: "is called /run/netns/blue outside".
/// Empty if there is no holder. A restore would put a copy of the namespace's content into another namespace. Throws
/// Error.
[[nodiscard]] std::optional<std::string> externalHolder(kernel::NamespaceKind kind, std::uint32_t inode);

}  // namespace criu::namespaces
