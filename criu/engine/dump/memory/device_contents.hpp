// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/dump/memory/dump_memory.hpp"

namespace criu::engine {

class FrozenPhase;

/// Has subsystems of devices save what is left of them when memory is dumped. Their contents count as memory does, in
/// `amounts` and in the trace. Throws Error.
void dumpDeviceContents(FrozenPhase& frozen, DumpMemory::Amounts& amounts);

}  // namespace criu::engine
