// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {

/// Hash and array maps of bpf(2): attributes, elements, frozen or not, all descriptions of each. Maps of other types
/// are refused. A restored map is a new one: programs outside of the tree go on with the old.
std::unique_ptr<FileKindDump> makeBpfMapDump();
std::unique_ptr<FileKindRestore> makeBpfMapRestore();

}  // namespace criu::files
