// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace criu::options {

/// Returns "; did you mean NAME?" with the name that is most similar to a mistyped or shortened word; "" if no name is
/// similar.
[[nodiscard]] std::string didYouMean(std::string_view word, std::span<const std::string> names,
                                     std::string_view prefix = "");

}  // namespace criu::options
