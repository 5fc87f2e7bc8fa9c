// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string_view>

namespace criu::engine {

/// A requirement of every dump and restore.
struct BasicCheck {
    std::string_view what;
    void (*test)();  ///< throws Error if the requirement isn't met
};

std::span<const BasicCheck> basicChecks() noexcept;

}  // namespace criu::engine
