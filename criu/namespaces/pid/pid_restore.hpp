// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// Returns true if the tree had a private pid namespace whose first process was the root.
[[nodiscard]] bool hasOwnPids(const RestoreInputs& inputs);

/// Creates the restore of a tree's pid namespaces (pid_namespaces(7)): a private one, an external one, or a new one
/// with --new-pidns, and nested ones. Returns null if there are none.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makePidRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
