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

/// Contexts of asynchronous I/O (io_setup(2)). A context is named by the address of its ring, memory that the kernel
/// writes results of finished requests to. Requests that aren't finished can be seen by nobody but the kernel: as with
/// CRIU 4.2 they aren't kept.
namespace criu::memory {

/// Whether a mapping of this name is a ring.
bool isAioRing(std::string_view name) noexcept;

/// Dump half: fills mm.aios for the rings among `vmas`. Throws Error if the memory there isn't a ring as known here.
void storeAioRings(HostPid process, std::span<const VmaEntry* const> vmas, MmEntry& mm, Arena& arena);

/// Restore half: makes a context for the calling process, with the positions and results in `content`, the ring as it
/// was. Returns where its ring is now; moving it (mremap) renames the context.
Range makeAioRing(const AioRingEntry& ring, std::span<const std::byte> content);

}  // namespace criu::memory
