// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>

namespace criu::engine {

struct RestoreRun;

/// Calls `create`, which creates the root, in a thread that has the groups of the root's birth. Those are the image's
/// groups if the user namespace denies setgroups(2), else criu's groups. Throws Error.
void withBirthGroups(const RestoreRun& run, const std::function<void()>& create);

}  // namespace criu::engine
