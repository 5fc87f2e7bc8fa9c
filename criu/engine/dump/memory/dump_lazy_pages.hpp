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

/// What of a process comes after it runs again, and stays where it is: the rule that lazyAreasOf() (lazy_restore.hpp)
/// has for images. `mm` has the addresses of its arguments.
[[nodiscard]] std::shared_ptr<const memory::LazyAreas> lazyAreasAtSource(const FrozenTask& task,
                                                                         const memory::DumpedMemory& memory,
                                                                         const MmEntry& mm);

/// When the images are complete: says that pages can be asked for, and answers until whoever restores has taken all
/// that was left out. Throws Error; then the tree is still here.
void serveLazyPages(FrozenPhase& frozen);

}  // namespace criu::engine
