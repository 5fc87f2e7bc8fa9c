// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// Directory of plugins: --libdir, else $CRIU_LIBS_DIR, else /usr/lib/criu.
struct PluginDirectory {
    std::string path;
    bool asked = false;  ///< the user named it
};

PluginDirectory pluginDirectory(const model::Options& options);

/// Loads each NAME.so of the directory, in directory order, and adds it to `subsystems` (CRIU's plugin ABI,
/// lib/c/criu-plugin.h). Skips plugins whose file or plugin name is in `off`, or that one of `subsystems` replaces
/// (Subsystem::replacesPlugins()). A file that can't be loaded throws Error if the user named the directory; otherwise
/// criu warns.
void loadPlugins(const PluginDirectory& directory, std::span<const std::string> off, Subsystems& subsystems, Log& log);

}  // namespace criu::device
