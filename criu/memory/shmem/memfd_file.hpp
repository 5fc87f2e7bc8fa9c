// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::memory {
class Segments;
class SegmentsDump;

/// Create the dump half and the restore half of the fd kind of memfds. The dump half adds the memory of memfds to
/// `segments`. The restore half uses memory that `segments` created. `segments` must outlive both.
std::unique_ptr<files::FileKindDump> makeMemfdDump(SegmentsDump& segments);
std::unique_ptr<files::FileKindRestore> makeMemfdRestore(const Segments& segments);

}  // namespace criu::memory
