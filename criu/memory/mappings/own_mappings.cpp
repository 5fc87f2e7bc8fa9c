// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/own_mappings.hpp"

#include <algorithm>

#include "criu/base/machine.hpp"
#include "criu/kernel/mm/maps.hpp"

namespace criu::memory {
namespace {

constexpr std::uint64_t kStackRoom = std::uint64_t{16} << 20;

}  // namespace

RangeSet ownMappings() {
    RangeSet occupied;
    for (const kernel::Vma& vma : kernel::readMaps(kernel::ProcDir().self())) {
        if (vma.start >= taskSize())
            continue;
        const std::uint64_t room = vma.name == "[stack]" ? std::min(kStackRoom, vma.start) : 0;
        occupied.add({vma.start - room, vma.end});
    }
    return occupied;
}

}  // namespace criu::memory
