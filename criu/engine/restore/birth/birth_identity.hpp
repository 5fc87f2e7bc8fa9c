// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>

namespace criu::engine {

struct RestoreRun;

/// Calls `create`, which creates the first process of the tree, by a thread that has the groups which this process is
/// to be born with: its own, where nobody in its user namespace may change them (setgroups(2)), else criu's. Throws
/// Error.
void withBirthGroups(const RestoreRun& run, const std::function<void()>& create);

}  // namespace criu::engine
