// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

#include "criu/model/options.hpp"

namespace criu::options {

/// Applies --plugin-option PLUGIN.NAME=VALUE. CRIU passes it to a plugin; criu has CUDA support built in, and applies
/// its own option with the same meaning. Throws Error for other plugins and names.
void applyPluginOption(std::string_view text, model::Options& options);

/// True for a --plugin-option that only a restore can use.
[[nodiscard]] bool isRestorePluginOption(std::string_view text) noexcept;

}  // namespace criu::options
