// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

class CapturedPhase;

/// Writes the CPU image if the options require it, then the inventory. The inventory is the last image, because its
/// existence shows that all other images are complete. Throws Error.
void writeInventory(const CapturedPhase& captured);

}  // namespace criu::engine
