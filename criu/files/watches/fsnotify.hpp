// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {
class PathDump;
class PathRemaps;

/// inotify(7): images contain the watches with their numbers and masks. Unread events are lost; the dump logs a
/// warning.
std::unique_ptr<FileKindDump> makeInotifyDump(const PathDump& paths);
std::unique_ptr<FileKindRestore> makeInotifyRestore(const PathRemaps& remaps);

/// fanotify(7): images contain flags, and marks on inodes and mounts. Unread events are lost; the dump logs a warning.
std::unique_ptr<FileKindDump> makeFanotifyDump(const PathDump& paths);
std::unique_ptr<FileKindRestore> makeFanotifyRestore(const PathRemaps& remaps);

}  // namespace criu::files
