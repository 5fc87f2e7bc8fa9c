// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// Restores the UTS namespace of a tree (uts_namespaces(7)): a new one with the names of the images, or a joined one.
/// Null if there is nothing to do.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeUtsRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
