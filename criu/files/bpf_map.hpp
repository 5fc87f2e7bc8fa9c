// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// Hash and array maps of bpf(2): attributes, elements, the frozen flag, and all open file descriptions. Maps of other
/// types are refused. A restore creates a new map; external programs keep using the old one.
std::unique_ptr<FileKindDump> makeBpfMapDump();
std::unique_ptr<FileKindRestore> makeBpfMapRestore();

}  // namespace criu::files
