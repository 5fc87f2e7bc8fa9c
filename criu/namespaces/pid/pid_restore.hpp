// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// True if the tree had a private pid namespace whose first process was the root.
[[nodiscard]] bool hasOwnPids(const RestoreInputs& inputs);

/// Restores the pid namespaces of a tree (pid_namespaces(7)): a private one, an external one, or a new one with
/// --new-pidns, and the nested ones. Null if there are none.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makePidRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
