// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// Restores the IPC namespace of a tree (ipc_namespaces(7)): a new one with the objects of the images, or a joined one.
/// For a tree in criu's namespace, only sets RestoreNsContext::systemV and returns null.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeIpcRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
