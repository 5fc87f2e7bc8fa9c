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

/// Checks whether processes outside the tree are in its non-root namespaces, or a mount of such a namespace exists. A
/// restore creates new namespaces, without these processes. If the tree doesn't continue to run, throws Error for mount
/// and network namespaces. Otherwise logs a warning.
void requireNoExternalSharing(const DumpInputs& inputs);

/// Describes the external user of a namespace that no process of the tree is in, such as "is called /run/netns/blue
/// outside". Returns nullopt if there is none. With an external user, a restore can't create the namespace, because it
/// would put a copy of the content into a new namespace. Throws Error.
[[nodiscard]] std::optional<std::string> externalHolder(kernel::NamespaceKind kind, std::uint32_t inode);

}  // namespace criu::namespaces
