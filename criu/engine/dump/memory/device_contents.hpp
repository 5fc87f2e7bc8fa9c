// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/dump/memory/dump_memory.hpp"

namespace criu::engine {

class FrozenPhase;

/// Makes device subsystems store the part of the device state that they store together with memory. Adds the stored
/// bytes to `amounts` and to the trace. Throws Error.
void dumpDeviceContents(FrozenPhase& frozen, DumpMemory::Amounts& amounts);

}  // namespace criu::engine
