// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

#include "criu/memory/pages/ranges.hpp"
#include "images/core.fwd.hpp"
#include "images/mm.fwd.hpp"

namespace criu::engine {

/// Bytes in the restorer's area by which one thread of a restored process continues if criu is killed.
struct StandbyRoom {
    StandbyRoom() noexcept;
    [[nodiscard]] std::size_t all() const noexcept { return program + stack + frame; }

    std::size_t program = 512;  ///< program of the interpreter
    /// Stack of the interpreter, and free bytes below it: a later tracer may put a signal frame there.
    std::size_t stack;
    std::size_t frame;  ///< signal frame with the state of the thread
};

/// Returns the maximum number of bytes that the restorer's program and data of one process may need.
[[nodiscard]] std::uint64_t restorerDataRoom(const CoreEntry& core, const MmEntry& mm, std::size_t threads);

/// Throws Error if a dumped process has no free range of addresses for the restorer, because criu couldn't restore it.
/// `mm`: has the mappings, sorted by address.
void requireRestorerRoom(const CoreEntry& core, const MmEntry& mm, std::size_t threads);

/// Finds `size` bytes of addresses below `limit` that are free in both the calling process and the process of the
/// images. Throws Error. `mm`: mappings of the images. `mapped`: mappings that the calling process had at its creation.
[[nodiscard]] memory::Range findRestorerArea(std::uint64_t size, std::uint64_t limit, const MmEntry& mm,
                                             const memory::RangeSet& mapped);

}  // namespace criu::engine
