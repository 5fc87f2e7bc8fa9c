// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// Restores the time namespace of a tree (time_namespaces(7)). Creates or joins one wherever the kernel permits,
/// because clocks continue from the dump. Null if there is nothing to do.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeTimeRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
