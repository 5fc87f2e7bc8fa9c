// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"

namespace criu::cuda {

/// Which processes a dump has locked, in memory that the process which dumps shares with the one that watches it: to be
/// known when the former is killed.
class Held {
public:
    Held();

    /// Before the process is locked. What finds no room isn't remembered.
    void add(TreePid pid) noexcept;
    /// All are as they were, or are going to be killed.
    void clear() noexcept;
    [[nodiscard]] std::vector<TreePid> all() const;

private:
    static constexpr std::size_t kMost = 1000;
    struct Page {
        std::uint32_t count = 0;
        std::array<pid_t, kMost> pids{};
    };
    [[nodiscard]] Page& page() const noexcept;

    Mapping memory_;
};

}  // namespace criu::cuda
