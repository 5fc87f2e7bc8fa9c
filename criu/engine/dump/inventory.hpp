// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

class CapturedPhase;

/// Writes the CPU image if options ask for it, then the inventory. The inventory is the last image, because it says
/// that all others are complete. Throws Error.
void writeInventory(const CapturedPhase& captured);

}  // namespace criu::engine
