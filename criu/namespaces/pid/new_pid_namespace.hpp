// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// True if --new-pidns is set and the tree had no private pid namespace.
[[nodiscard]] bool getsNewPids(const RestoreInputs& inputs);

/// True if the root has pid 1, so that it is the first process of the pid namespace in place of an init of criu.
[[nodiscard]] bool rootIsInit(const RestoreInputs& inputs);

/// Creates a new pid namespace whose first process is an init of criu (pie/namespace_init). The init creates the root
/// of the tree.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeNewPidRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
