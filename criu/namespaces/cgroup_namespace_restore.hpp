// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::cgroup {
class CgroupRestore;
}

namespace criu::namespaces {
class NamespaceRestore;
struct RestoreInputs;

/// The cgroup namespace of a restored tree (cgroup_namespaces(7)), whose roots are groups that `groups` has made. Null
/// if the tree had none.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeCgroupRestore(const RestoreInputs& inputs,
                                                                  cgroup::CgroupRestore& groups);

}  // namespace criu::namespaces
