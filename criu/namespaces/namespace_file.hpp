// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::namespaces {

/// Fd kind of files in /proc/PID/ns/. Accepts only namespaces in which the tree is.
std::unique_ptr<files::FileKindDump> makeNamespaceFileDump();
std::unique_ptr<files::FileKindRestore> makeNamespaceFileRestore();

}  // namespace criu::namespaces
