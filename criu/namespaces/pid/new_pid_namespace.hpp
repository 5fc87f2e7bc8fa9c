// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// Whether --new-pidns gives the tree a pid namespace: it is asked for, and the tree had none for itself.
[[nodiscard]] bool getsNewPids(const RestoreInputs& inputs);

/// And its root, by its number, is the first process of that; otherwise an init of criu's is.
[[nodiscard]] bool rootIsInit(const RestoreInputs& inputs);

/// A new pid namespace whose first process is an init of criu's (pie/namespace_init), which creates the root of the
/// tree.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeNewPidRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
