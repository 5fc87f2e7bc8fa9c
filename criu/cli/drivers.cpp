// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cli/drivers.hpp"

#include <cstdlib>

#include "criu/device/driver_options.hpp"
#include "criu/device/subsystem.hpp"
#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/options.hpp"
#include "plugins/amdgpu/subsystem.hpp"
#include "plugins/cuda/driver.hpp"
#include "plugins/cuda/options.hpp"
#include "plugins/cuda/subsystem.hpp"

namespace criu {

device::Subsystems cli::builtInDevices() {
    device::Subsystems devices;
    devices.push_back(amdgpu::makeSubsystem(amdgpu::makeKernel(), ::secure_getenv));
    devices.push_back(cuda::makeSubsystem(cuda::makeDriver()));
    return devices;
}

std::vector<const device::DriverOption*> device::driverOptions() {
    std::vector<const DriverOption*> all;
    for (const DriverOption& option : cuda::kOptions)
        all.push_back(&option);
    for (const DriverOption& option : amdgpu::kOptions)
        all.push_back(&option);
    return all;
}

}  // namespace criu
