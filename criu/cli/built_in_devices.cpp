// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cli/built_in_devices.hpp"

#include <cstdlib>

#include "criu/device/subsystem.hpp"
#include "criu/device/subsystem_options.hpp"
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

std::vector<const device::SubsystemOption*> device::subsystemOptions() {
    std::vector<const SubsystemOption*> all;
    for (const SubsystemOption& option : cuda::kOptions)
        all.push_back(&option);
    for (const SubsystemOption& option : amdgpu::kOptions)
        all.push_back(&option);
    return all;
}

}  // namespace criu
