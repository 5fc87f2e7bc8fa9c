// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/memory/mappings/mapping_kind.hpp"

/// Mapping kinds, each defined in mapping_NAME.cpp.
namespace criu::memory {

const MappingKind& uprobesMapping();      ///< area in which the kernel's uprobes keep instructions
const MappingKind& kernelAreaMapping();   ///< vDSO, its data, vsyscall page
const MappingKind& guardMapping();        ///< guard regions: parts of mappings, with entries in images
const MappingKind& clonesMapping();       ///< the shared-pages file of restore --map-pages
const MappingKind& unsupportedMapping();  ///< mappings that can't be dumped
const MappingKind& aioRingMapping();
const MappingKind& packetRingMapping();
const MappingKind& ioUringMapping();
const MappingKind& sysvMapping();
const MappingKind& segmentMapping();  ///< shared anonymous memory, memfds
const MappingKind& deviceMapping();
const MappingKind& anonymousMapping();
const MappingKind& fileMapping();

}  // namespace criu::memory
