// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// Returns true if --new-pidns is set and the tree had no private pid namespace.
[[nodiscard]] bool getsNewPids(const RestoreInputs& inputs);

/// Returns true if the root has pid 1. The root is then the first process of the pid namespace, and criu creates no
/// namespace init.
[[nodiscard]] bool rootIsInit(const RestoreInputs& inputs);

/// Creates a restore with a new pid namespace, whose first process is a namespace init (pie/namespace_init). The
/// namespace init creates the root of the tree.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeNewPidRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
