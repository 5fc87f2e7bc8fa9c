// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// pidfd_open(2) of processes of the tree and of reaped processes. The latter are restored as pidfds of a placeholder
/// process that has ended; its exit status isn't restored.
std::unique_ptr<FileKindDump> makePidFdDump();
std::unique_ptr<FileKindRestore> makePidFdRestore();

}  // namespace criu::files
