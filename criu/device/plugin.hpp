// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// Directory of plugins: the value of --libdir, or else of $CRIU_LIBS_DIR, or else lib/criu of the
/// bundle, or else /usr/lib/criu.
struct PluginDirectory {
    std::string path;
    bool asked = false;  ///< true if the user named the directory
};

PluginDirectory pluginDirectory(const model::Options& options);

/// Loads all files NAME.so of the directory, in directory order, and adds them to `subsystems` (CRIU's plugin ABI,
/// lib/c/criu-plugin.h). Skips a plugin if `off` contains its file name or plugin name, or if one of `subsystems`
/// replaces it (Subsystem::replacesPlugins()). If a file can't be loaded and the user has named the directory, throws
/// Error. If the user hasn't, only warns.
void loadPlugins(const PluginDirectory& directory, std::span<const std::string> off, Subsystems& subsystems, Log& log);

}  // namespace criu::device
