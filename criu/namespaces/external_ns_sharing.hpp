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

/// Checks non-root namespaces for external sharing. A restore creates new namespaces, in which external processes
/// aren't.
/// Throws Error for a mount or network namespace that contains an external process or is mounted at a path. Logs a
/// warning for other kinds, and for all kinds if the tree continues to run.
void requireNoExternalSharing(const DumpInputs& inputs);

/// Describes the external user of a namespace that no process of the tree is in, such as "is called /run/netns/blue
/// outside". Returns nullopt if there is none. With an external user, a restore can't create the namespace, because it
/// would put a copy of the content into a new namespace. Throws Error.
[[nodiscard]] std::optional<std::string> externalHolder(kernel::NamespaceKind kind, std::uint32_t inode);

}  // namespace criu::namespaces
