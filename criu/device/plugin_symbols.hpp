// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// Sets the data symbols of lib/c/criu-plugin-host.h for a run.
void setPluginSymbols(const Context& context);

/// Returns the context of the run that uses plugins; null outside of one.
[[nodiscard]] const Context* pluginContext() noexcept;

}  // namespace criu::device
