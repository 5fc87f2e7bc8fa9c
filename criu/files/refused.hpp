// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

struct OpenFd;

/// Files whose state the kernel doesn't show or doesn't let criu set. The kind claims and refuses them with the reason.
std::unique_ptr<FileKindDump> makeRefusedDump();

/// Throws Error: the file can't be dumped. Names typical programs that use such files.
[[noreturn]] void refuseFile(const OpenFd& file);

}  // namespace criu::files
