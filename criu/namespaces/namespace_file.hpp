// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::namespaces {

/// Open files of /proc/PID/ns/, of namespaces that the tree is in. Others are refused.
std::unique_ptr<files::FileKindDump> makeNamespaceFileDump();
std::unique_ptr<files::FileKindRestore> makeNamespaceFileRestore();

}  // namespace criu::namespaces
