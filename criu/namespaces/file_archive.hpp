// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>
#include <time.h>

#include <string>
#include <vector>

#include "criu/base/stop_request.hpp"
#include "criu/model/id_map.hpp"

/// The files of a file system in memory as a compressed tar archive, which is the form in which images have them.
namespace criu::namespaces {

/// A socket's file: archives have no room for it.
struct SocketFile {
    std::string path;  ///< below the directory that was archived
    mode_t mode = 0;   ///< permissions
    uid_t user = 0;
    gid_t group = 0;
    timespec modified{};
};

/// Writes everything below `directory`, and that itself, to `to`: content without its holes, links, devices, owners,
/// modes, times and extended attributes. `ids`: how the tree calls owners. Nothing may be mounted in it. Returns what
/// isn't in the archive. Throws Error, also as soon as `stop` is requested; then the archive has no end.
[[nodiscard]] std::vector<SocketFile> archiveFiles(int directory, int to, const model::IdMap& ids, StopRequest& stop);

/// Makes the files of an archive, which `from` is positioned at, below `directory`. The calling process may have no
/// other thread: it goes there for the time. Throws Error.
void extractFiles(int from, int directory);

/// Makes the files of sockets.
void makeSocketFiles(const std::vector<SocketFile>& sockets, int directory);

}  // namespace criu::namespaces
