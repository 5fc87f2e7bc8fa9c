// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/device/subsystem.hpp"
#include "plugins/cuda/driver.hpp"

namespace criu::cuda {

/// Creates the device subsystem for NVIDIA GPUs.
std::unique_ptr<device::Subsystem> makeSubsystem(std::unique_ptr<Driver> driver);

}  // namespace criu::cuda
