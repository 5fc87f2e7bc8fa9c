// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/memory/mappings/mapping_kind.hpp"

/// The kinds of mappings; each is defined in mapping_NAME.cpp.
namespace criu::memory {

const MappingKind& uprobesMapping();      ///< the area where the kernel's user-space probes keep instructions
const MappingKind& kernelAreaMapping();   ///< vDSO, its data, vsyscall page
const MappingKind& guardMapping();        ///< guard regions: parts of mappings, entries of their own in images
const MappingKind& clonesMapping();       ///< of restore --map-pages
const MappingKind& unsupportedMapping();  ///< what can't be dumped or restored
const MappingKind& aioRingMapping();
const MappingKind& packetRingMapping();
const MappingKind& ioUringMapping();
const MappingKind& sysvMapping();
const MappingKind& segmentMapping();  ///< shared anonymous memory, memfds
const MappingKind& deviceMapping();
const MappingKind& anonymousMapping();
const MappingKind& fileMapping();

}  // namespace criu::memory
