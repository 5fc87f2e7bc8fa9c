// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// Sets the data symbols of lib/c/criu-plugin-host.h to the values of a run.
void setPluginSymbols(const Context& context);

/// Returns the context of the run that uses plugins; nullptr if no run uses plugins.
[[nodiscard]] const Context* pluginContext() noexcept;

}  // namespace criu::device
