// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

#include "criu/model/options.hpp"

namespace criu::options {

/// Stores --plugin-option PLUGIN.NAME[=VALUE] for plugins. criu supports CUDA itself, so it also applies its own option
/// with the meaning of an option of cuda_plugin. Throws Error for a wrong form, and for other options of cuda_plugin.
void applyPluginOption(std::string_view text, model::Options& options);

/// Returns true for a --plugin-option that only a restore uses.
[[nodiscard]] bool isRestorePluginOption(std::string_view text) noexcept;

}  // namespace criu::options
