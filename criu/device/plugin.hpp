// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// Where plugins are: --libdir, else $CRIU_LIBS_DIR, else the default place.
struct PluginDirectory {
    std::string path;
    bool asked = false;  ///< the user named it
};

PluginDirectory pluginDirectory(const model::Options& options);

/// Loads every NAME.so of the directory, in the directory's order (CRIU's plugin ABI, lib/c/criu-plugin.h), and adds it
/// to `subsystems`. One whose name, its file's or its own, is in `off`, or whose work one of `subsystems` does
/// (Subsystem::replacesPlugins()), is passed over with a line in the log. What can't be loaded is an Error if the user
/// named the directory, else a warning.
void loadPlugins(const PluginDirectory& directory, std::span<const std::string> off, Subsystems& subsystems, Log& log);

}  // namespace criu::device
