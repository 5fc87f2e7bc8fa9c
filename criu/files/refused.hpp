// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

struct OpenFd;

/// Creates the fd kind for files that criu recognizes but can't dump or restore, because the kernel doesn't show or set
/// their state. It claims such files and refuses them with the reason.
std::unique_ptr<FileKindDump> makeRefusedDump();

/// Throws Error with the reason why criu can't dump the file. The message names typical programs that use such files.
[[noreturn]] void refuseFile(const OpenFd& file);

}  // namespace criu::files
