// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// The time namespace of a restored tree (time_namespaces(7)). It is always a new one or a joined one, where the kernel
/// can make one, because clocks are to go on from where they were at the dump. Null if there is nothing to do.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeTimeRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
