// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/dump/memory/dump_memory.hpp"

namespace criu::engine {

class FrozenPhase;

/// Makes device subsystems save the state that they save only when memory is dumped. Its bytes count in `amounts` and
/// in the trace like memory. Throws Error.
void dumpDeviceContents(FrozenPhase& frozen, DumpMemory::Amounts& amounts);

}  // namespace criu::engine
