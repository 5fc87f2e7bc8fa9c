// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/subsystem.hpp"

#include <compel/process.hpp>

#include "criu/base/error.hpp"

namespace criu::device {

void DeviceDump::checkpointAll(std::span<compel::FrozenProcess* const> processes, const ProcessCheckpointed&) {
    for (compel::FrozenProcess* const process : processes) {
        const ErrorContext context([&] { return fmt::format("process {}", process->pid()); });
        checkpoint(*process);
    }
}

void DeviceRestore::resumeAll(std::span<const ResumedProcess> processes) {
    for (const ResumedProcess& each : processes) {
        const ErrorContext context([&] { return fmt::format("process {}", each.pid); });
        resume(*each.process, each.pid);
    }
}

}  // namespace criu::device
