// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::memory {
class Segments;
class SegmentsDump;

/// Fd kind of memfds. The dump half records their memory in `segments`; the restore half uses the memory created
/// there. Both `segments` must outlive the halves.
std::unique_ptr<files::FileKindDump> makeMemfdDump(SegmentsDump& segments);
std::unique_ptr<files::FileKindRestore> makeMemfdRestore(const Segments& segments);

}  // namespace criu::memory
