// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/subsystem.hpp"

namespace criu::device {

/// Sets the data symbols of lib/c/criu-plugin-host.h for a run whose plugins are about to work.
void setPluginSymbols(const Context& context);

/// The run whose plugins are working; null outside of one.
[[nodiscard]] const Context* pluginContext() noexcept;

}  // namespace criu::device
