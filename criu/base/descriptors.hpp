// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <unistd.h>

#include <algorithm>
#include <vector>

namespace criu {

/// Closes all descriptors of this process except the standard streams and `spared`.
inline void closeAllExcept(std::vector<int> spared) {
    std::sort(spared.begin(), spared.end());
    unsigned first = STDERR_FILENO + 1;
    for (const int fd : spared) {
        const auto number = static_cast<unsigned>(fd);
        if (number > first)
            ::close_range(first, number - 1, 0);
        first = std::max(first, number + 1);
    }
    ::close_range(first, ~0U, 0);
}

}  // namespace criu
