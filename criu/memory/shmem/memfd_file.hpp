// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::memory {
class Segments;
class SegmentsDump;

/// Descriptors of memfds. A dump gathers their memory in `segments`, a restore has made it there. Both outlive the
/// halves.
std::unique_ptr<files::FileKindDump> makeMemfdDump(SegmentsDump& segments);
std::unique_ptr<files::FileKindRestore> makeMemfdRestore(const Segments& segments);

}  // namespace criu::memory
