// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cgroup/set_of.hpp"

#include "images/core.hpp"

namespace criu::cgroup {

std::uint32_t setOf(const CoreEntry& core) noexcept {
    if (core.thread_core != nullptr && core.thread_core->has_cg_set != 0)
        return core.thread_core->cg_set;
    return core.tc != nullptr && core.tc->has_cg_set != 0 ? core.tc->cg_set : 0;
}

}  // namespace criu::cgroup
