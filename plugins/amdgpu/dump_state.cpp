// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/dump_state.hpp"

#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"

namespace criu::amdgpu {

std::string nameOf(HostPid pid) {
    kernel::ProcBuffer buffer;
    const auto status = kernel::readStatus(kernel::ProcDir().open(pid.value), buffer);
    return fmt::format("process {} ({})", pid, status.name);
}

std::uint32_t minorOf(const DumpedProcess& process, const uapi::KfdBuffer& buffer, const Topology& topology) {
    for (const uapi::KfdDevice& device : process.state.devices)
        if (device.userGpuId == buffer.gpuId)
            if (const Node* const gpu = topology.findGpu(device.actualGpuId))
                return gpu->renderMinor;
    return 0;
}

}  // namespace criu::amdgpu
