// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <vector>

namespace criu::namespaces {

class NamespaceRestore;
/// Restore halves of all namespace kinds that a tree needs.
using NamespaceRestores = std::vector<std::unique_ptr<NamespaceRestore>>;

}  // namespace criu::namespaces
