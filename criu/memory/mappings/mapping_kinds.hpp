// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/memory/mappings/mapping_kind.hpp"

/// Mapping kinds. mapping_NAME.cpp defines the kind NAME.
namespace criu::memory {

const MappingKind& uprobesMapping();      ///< area in which the kernel executes single instructions of probed code
const MappingKind& kernelAreaMapping();   ///< vDSO, data of the vDSO, and the vsyscall page
const MappingKind& guardMapping();        ///< guard regions, which are parts of mappings and have entries in images
const MappingKind& clonesMapping();       ///< mappings of the shared-pages file (restore --map-pages)
const MappingKind& unsupportedMapping();  ///< mappings that criu refuses to dump
const MappingKind& aioRingMapping();
const MappingKind& packetRingMapping();
const MappingKind& ioUringMapping();
const MappingKind& sysvMapping();
const MappingKind& segmentMapping();  ///< shared anonymous memory and memfds
const MappingKind& deviceMapping();
const MappingKind& anonymousMapping();
const MappingKind& fileMapping();

}  // namespace criu::memory
