// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// The IPC namespace of a restored tree (ipc_namespaces(7)): a new one with the objects of the images, a joined one, or
/// that of criu, whose System V objects are restored one by one then. Null if there is nothing to do.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeIpcRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
