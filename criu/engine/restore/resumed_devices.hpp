// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

class ParkedRestore;

/// Returns when the devices of all processes work again, for which contents that are still under way have to come; they
/// are shown as those before. Throws Error.
void resumeDevices(ParkedRestore& parked);

}  // namespace criu::engine
