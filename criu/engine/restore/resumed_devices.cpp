// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/resumed_devices.hpp"

#include <memory>
#include <vector>

#include "criu/device/restore_devices.hpp"
#include "criu/engine/progress.hpp"
#include "criu/engine/restore/born.hpp"
#include "criu/engine/restore/parked.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/prepared.hpp"

namespace criu::engine {

void resumeDevices(ParkedRestore& parked) {
    const std::unique_ptr<Progress> progress = showProgress(parked.born);
    std::vector<device::ResumedProcess> resumed;
    parked.tree.forEach([&](compel::FrozenProcess& process, TreePid pid) { resumed.push_back({&process, pid}); });
    parked.born.prepared.planned.devices.resume(resumed);
}

}  // namespace criu::engine
