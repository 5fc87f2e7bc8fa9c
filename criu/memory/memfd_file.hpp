// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.hpp"
#include "criu/memory/segments.hpp"
#include "criu/memory/segments_dump.hpp"

namespace criu::memory {

/// Descriptors of memfds. `dumped` gathers them on dump, `restored` has them on restore; both outlive the kind.
std::unique_ptr<files::FileKind> makeMemfdKind(SegmentsDump& dumped, const Segments& restored);

}  // namespace criu::memory
