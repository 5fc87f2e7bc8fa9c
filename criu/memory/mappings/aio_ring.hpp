// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "images/mm.fwd.hpp"
#include "images/vma.fwd.hpp"

/// AIO contexts (io_setup(2)). A context's id is the address of its ring, to which the kernel writes the results of
/// finished requests. Only the kernel knows unfinished requests: criu loses them, as CRIU 4.2 does.
namespace criu::memory {

/// Returns true if a mapping of this name is a ring.
bool isAioRing(std::string_view name) noexcept;

/// Dump half: fills mm.aios for the rings among `vmas`. Throws Error if a ring has an unknown format.
void storeAioRings(HostPid process, std::span<const VmaEntry* const> vmas, MmEntry& mm, Arena& arena);

/// Restore half: creates a context for the calling process. `content` is the dumped ring with positions and results.
/// Returns the range of the new ring; mremap(2) of it changes the context's id.
Range makeAioRing(const AioRingEntry& ring, std::span<const std::byte> content);

}  // namespace criu::memory
