// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.hpp"
#include "criu/files/regular.hpp"

namespace criu::engine {

/// All kinds of files this criu knows, in the order in which they are asked on dump: the one list that a new kind is added
/// to.
files::FileKinds makeFileKinds(files::PathDump& paths, const files::PathRemaps& remaps);

}  // namespace criu::engine
