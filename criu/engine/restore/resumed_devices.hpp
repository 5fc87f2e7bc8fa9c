// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

class ParkedRestore;

/// Waits until the devices of all processes work again, which needs all device contents. Shows progress. Throws Error.
void resumeDevices(ParkedRestore& parked);

}  // namespace criu::engine
