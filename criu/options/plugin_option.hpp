// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

#include "criu/model/options.hpp"

namespace criu::options {

/// Applies --plugin-option PLUGIN.NAME=VALUE. CRIU passes the value to a plugin. criu supports CUDA itself, so it
/// applies its own option with the same meaning. Throws Error for other plugins and names.
void applyPluginOption(std::string_view text, model::Options& options);

/// Returns true for a --plugin-option that only a restore uses.
[[nodiscard]] bool isRestorePluginOption(std::string_view text) noexcept;

}  // namespace criu::options
