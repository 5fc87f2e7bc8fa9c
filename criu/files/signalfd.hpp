// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// signalfd(2): the mask. The signals themselves are pending in the process, not in the file.
std::unique_ptr<FileKindDump> makeSignalFdDump();
std::unique_ptr<FileKindRestore> makeSignalFdRestore();

}  // namespace criu::files
