// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>

#include "criu/memory/pages/ranges.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/vma.fwd.hpp"

namespace criu::memory {

/// Mapping of an io_uring, and the process' descriptor of the ring.
struct RingMapping {
    const VmaEntry* vma = nullptr;
    int fd = -1;
};

/// Adds steps that map rings of io_uring. Only the kernel chooses the address of a ring, so the steps first occupy all
/// other free addresses. `taken`: all addresses that are in use. Other memory must occupy the addresses of `rings`,
/// which the steps unmap one after the other.
void addIoUringSteps(std::span<const RingMapping> rings, const RangeSet& taken, pie::StepList& steps);

}  // namespace criu::memory
