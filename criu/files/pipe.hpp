// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// Pipes of pipe(2): images contain open file descriptions of both ends, content and capacity.
std::unique_ptr<FileKindDump> makePipeDump();
std::unique_ptr<FileKindRestore> makePipeRestore();

/// Fifos: images contain the path, all open file descriptions, content and capacity.
std::unique_ptr<FileKindDump> makeFifoDump();
std::unique_ptr<FileKindRestore> makeFifoRestore();

}  // namespace criu::files
