// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;
}  // namespace criu::namespaces

namespace criu::namespaces {

/// The pid namespace of a restored tree (pid_namespaces(7)). Its first process is the first of the tree. Null
/// if there is nothing to do.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makePidRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
