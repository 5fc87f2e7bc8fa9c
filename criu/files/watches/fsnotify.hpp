// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {
class PathDump;
class PathRemaps;

/// inotify(7): watches with their numbers and masks. Events that weren't read are lost; the log warns.
std::unique_ptr<FileKindDump> makeInotifyDump(const PathDump& paths);
std::unique_ptr<FileKindRestore> makeInotifyRestore(const PathRemaps& remaps);

/// fanotify(7): flags, marks on inodes and mounts. Events that weren't read are lost; the log warns.
std::unique_ptr<FileKindDump> makeFanotifyDump(const PathDump& paths);
std::unique_ptr<FileKindRestore> makeFanotifyRestore(const PathRemaps& remaps);

}  // namespace criu::files
