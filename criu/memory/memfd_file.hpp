// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/memory/segments.hpp"
#include "criu/memory/segments_dump.hpp"

namespace criu::memory {

/// Descriptors of memfds. A dump gathers their memory in `segments`, a restore has made it there. Both outlive the
/// halves.
std::unique_ptr<files::FileKindDump> makeMemfdDump(SegmentsDump& segments);
std::unique_ptr<files::FileKindRestore> makeMemfdRestore(const Segments& segments);

}  // namespace criu::memory
