// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"

namespace criu {
class Journal;
}

namespace criu::engine {

struct FrozenTask;

/// Makes a frozen process create a userfaultfd, because a userfaultfd belongs to the memory of its creator. Returns a
/// copy of the descriptor. The process closes it itself, also if criu dies. Uses a blob, which criu records in
/// `journal`. Throws Error or compel::Error.
[[nodiscard]] UniqueFd makeUserfaultfd(FrozenTask& task, Journal& journal);

}  // namespace criu::engine
