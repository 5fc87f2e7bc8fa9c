// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu::model {

/// Division of the births of one process, so that several cores create its children.
struct BirthShares {
    /// Children that the process creates before the first share.
    std::vector<TreePid> single;
    /// The process creates the first child of each share. This child creates the rest of the share with CLONE_PARENT,
    /// before any other step, so that its siblings inherit the state of their parent.
    std::vector<std::vector<TreePid>> shares;
};

/// Divides the births of `children` into at most `cores` shares of at least kLeastShare children. Without enough plain
/// children, all children are single. `isPlain`: returns true for a child that needs nothing at its birth but a copy of
/// its parent, and that has no children itself.
[[nodiscard]] BirthShares divideBirths(std::span<const TreePid> children, unsigned cores,
                                       const std::function<bool(TreePid)>& isPlain);

/// Minimum number of children in a share. A share of few children saves no time.
inline constexpr std::size_t kLeastShare = 5;

}  // namespace criu::model
