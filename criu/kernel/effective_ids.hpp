// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>

namespace criu::kernel {

/// Runs `work` with another effective user and group, for objects whose creator the kernel records and nobody can set
/// afterwards. The calling thread must be root's; it alone is changed, and back afterwards. Throws Error.
void withEffectiveIds(uid_t user, gid_t group, const std::function<void()>& work);

}  // namespace criu::kernel
