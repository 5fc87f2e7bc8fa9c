// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// Whether the tree had a pid namespace for itself, which its root was the first process of.
[[nodiscard]] bool hasOwnPids(const RestoreInputs& inputs);

/// The pid namespaces of a restored tree (pid_namespaces(7)): the tree's own, one that the user gives, or with
/// --new-pidns a new one, and those below. Null if there is none of them.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makePidRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
