// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"

namespace criu::engine {

struct FrozenTask;

/// Makes a frozen process create a userfaultfd, because a userfaultfd belongs to the memory of its creator. Returns a
/// copy of the descriptor and closes it in the process. Throws Error or compel::Error.
[[nodiscard]] UniqueFd makeUserfaultfd(FrozenTask& task);

}  // namespace criu::engine
