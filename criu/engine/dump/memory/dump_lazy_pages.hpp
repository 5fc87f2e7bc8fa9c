// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "images/mm.fwd.hpp"

namespace criu::memory {
class LazyAreas;
struct DumpedMemory;
}  // namespace criu::memory

/// Functions of a dump with --lazy-pages.
namespace criu::engine {

class FrozenPhase;
struct FrozenTask;

/// Returns the lazy areas of a process, whose pages the restore fetches from this dump. The result must equal that of
/// lazyAreasOf() (lazy_restore.hpp) for the images. `mm`: entry with the addresses of the process' arguments.
[[nodiscard]] std::shared_ptr<const memory::LazyAreas> lazyAreasAtSource(const FrozenTask& task,
                                                                         const memory::DumpedMemory& memory,
                                                                         const MmEntry& mm);

/// Notifies listeners that a restore can request pages. Then serves requests until the restore has received all lazy
/// pages. Call it when the images are complete. The tree stays frozen, also after an Error.
void serveLazyPages(FrozenPhase& frozen);

}  // namespace criu::engine
