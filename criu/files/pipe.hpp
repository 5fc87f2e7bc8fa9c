// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.hpp"

namespace criu::files {

/// Pipes of pipe(2): both ends, all descriptions of each, content and capacity.
std::unique_ptr<FileKind> makePipeKind();

/// Named pipes: the path, all descriptions, content and capacity.
std::unique_ptr<FileKind> makeFifoKind();

}  // namespace criu::files
