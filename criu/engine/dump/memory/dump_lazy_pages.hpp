// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "images/mm.fwd.hpp"

namespace criu::memory {
class LazyAreas;
struct DumpedMemory;
}  // namespace criu::memory

/// The dump's part of --lazy-pages.
namespace criu::engine {

class FrozenPhase;
struct FrozenTask;

/// Returns the areas of a process whose pages the dump leaves as lazy pages. The rule is the one of lazyAreasOf()
/// (lazy_restore.hpp) for images. `mm` has the addresses of arguments.
[[nodiscard]] std::shared_ptr<const memory::LazyAreas> lazyAreasAtSource(const FrozenTask& task,
                                                                         const memory::DumpedMemory& memory,
                                                                         const MmEntry& mm);

/// Reports that pages can be requested, when the images are complete. Then serves requests until the restore has
/// received all lazy pages. Throws Error; the tree is still frozen then.
void serveLazyPages(FrozenPhase& frozen);

}  // namespace criu::engine
