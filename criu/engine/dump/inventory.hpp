// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

class CapturedPhase;

/// Writes what the checkpoint as a whole is: the processor, if that is wanted, and last of all images the inventory,
/// which says that all others are there. Throws Error.
void writeInventory(const CapturedPhase& captured);

}  // namespace criu::engine
