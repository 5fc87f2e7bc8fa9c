// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::cgroup {
class CgroupRestore;
}

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// Restores the cgroup namespace of a tree (cgroup_namespaces(7)). Its roots are groups that `groups` creates. Null if
/// the tree had none.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeCgroupRestore(const RestoreInputs& inputs,
                                                                  cgroup::CgroupRestore& groups);

}  // namespace criu::namespaces
