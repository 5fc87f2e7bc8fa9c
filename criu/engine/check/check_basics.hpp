// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string_view>

namespace criu::engine {

/// Test of a requirement that every dump and restore has.
struct BasicCheck {
    std::string_view what;
    void (*test)();  ///< throws Error if the requirement isn't met
};

std::span<const BasicCheck> basicChecks() noexcept;

}  // namespace criu::engine
