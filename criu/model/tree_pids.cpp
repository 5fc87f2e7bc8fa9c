// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/tree_pids.hpp"

#include <algorithm>

#include "criu/model/nested_pids.hpp"

namespace criu::model {

TreePids TreePids::ofOwnNamespace() {
    TreePids pids;
    pids.ownNamespace_ = true;
    return pids;
}

void TreePids::add(HostPid outside, TreePid inside) {
    if (outside && inside)
        inside_.insert_or_assign(outside, inside);
}

TreePid TreePids::inside(HostPid outside) const noexcept {
    if (!ownNamespace_)
        return TreePid(outside.value);
    const auto found = inside_.find(outside);
    return found != inside_.end() ? found->second : TreePid();
}

bool TreePids::has(TreePid number) const {
    return std::any_of(inside_.begin(), inside_.end(), [&](const auto& known) { return known.second == number; });
}

void TreePids::setNested(NestedPids nested) {
    nested_ = std::make_shared<const NestedPids>(std::move(nested));
}

const NestedPids& TreePids::nested() const noexcept {
    return nested_ != nullptr ? *nested_ : NestedPids::none();
}

bool TreePids::sees(HostPid viewer, TreePid other) const noexcept {
    return NestedPids::numberIn(nested().of(inside(viewer)), other) != 0;
}

}  // namespace criu::model
