// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// eventfd(2): counter and EFD_SEMAPHORE.
std::unique_ptr<FileKindDump> makeEventFdDump();
std::unique_ptr<FileKindRestore> makeEventFdRestore();

}  // namespace criu::files
