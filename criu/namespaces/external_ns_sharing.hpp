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

/// Checks whether outside processes are in non-root namespaces of the tree, or whether such a namespace is mounted
/// outside. A restore creates new namespaces without these processes. For mount and network namespaces, throws Error
/// unless the tree continues to run. In all other cases, only warns.
void requireNoExternalSharing(const DumpInputs& inputs);

/// Describes the external user of a namespace in which no process of the tree is, such as "is called /run/netns/blue
/// outside". Returns nullopt without an external user. Needed because a restore would put a copy of the content into a
/// new namespace, which the external user wouldn't see. Throws Error.
[[nodiscard]] std::optional<std::string> externalHolder(kernel::NamespaceKind kind, std::uint32_t inode);

}  // namespace criu::namespaces
