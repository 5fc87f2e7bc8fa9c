// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// signalfd(2): the mask. Pending signals belong to the process, not to the file.
std::unique_ptr<FileKindDump> makeSignalFdDump();
std::unique_ptr<FileKindRestore> makeSignalFdRestore();

}  // namespace criu::files
