// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/namespaces/mount/file_archive.hpp"

namespace criu::namespaces {

struct ArchiveFunctions;

/// Writes an archive of all files below a directory to `to`. For the arguments and the result see FileArchives::pack().
/// Throws Error.
[[nodiscard]] std::vector<SocketFile> packFiles(const ArchiveFunctions& lib, int directory, int to,
                                                const model::IdMap& ids, FileContents* apart, StopRequest& stop);

}  // namespace criu::namespaces
