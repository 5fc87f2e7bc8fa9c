// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/subsystems.hpp"

namespace criu::cli {

/// Creates the device subsystems that are linked into criu.
[[nodiscard]] device::Subsystems builtInDevices();

}  // namespace criu::cli
