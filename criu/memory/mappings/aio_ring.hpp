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

/// AIO contexts (io_setup(2)). The id of a context is the address of its ring. The kernel writes results of finished
/// requests to the ring. criu doesn't dump unfinished requests, because only the kernel has their data; CRIU 4.2
/// doesn't either.
namespace criu::memory {

/// Returns true if a mapping with this name in /proc/PID/maps is the ring of an AIO context.
bool isAioRing(std::string_view name) noexcept;

/// Fills mm.aios for the AIO rings among `vmas`, for a dump. Throws Error if a ring has an unknown format.
void storeAioRings(HostPid process, std::span<const VmaEntry* const> vmas, MmEntry& mm, Arena& arena);

/// Creates an AIO context for the calling process, for a restore. `content`: dumped ring with its positions and
/// results. Returns the range of the new ring. When mremap(2) moves the ring, the kernel changes the id of the context.
Range makeAioRing(const AioRingEntry& ring, std::span<const std::byte> content);

}  // namespace criu::memory
