// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string_view>

namespace criu::engine {

/// Something without which no tree can be dumped or restored.
struct BasicCheck {
    std::string_view what;
    void (*test)();  ///< throws Error when it isn't there
};

std::span<const BasicCheck> basicChecks() noexcept;

}  // namespace criu::engine
