// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// Pipes of pipe(2): both ends with all descriptions, content and capacity.
std::unique_ptr<FileKindDump> makePipeDump();
std::unique_ptr<FileKindRestore> makePipeRestore();

/// Fifos: path, all descriptions, content and capacity.
std::unique_ptr<FileKindDump> makeFifoDump();
std::unique_ptr<FileKindRestore> makeFifoRestore();

}  // namespace criu::files
