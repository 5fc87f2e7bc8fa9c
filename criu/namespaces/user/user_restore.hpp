// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// Restores the user namespace of a tree (user_namespaces(7)). Null if there is nothing to do.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeUserRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
