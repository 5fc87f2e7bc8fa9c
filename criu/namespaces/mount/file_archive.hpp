// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>
#include <time.h>

#include <memory>
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

struct ArchiveFunctions;
class FileContents;

/// Packs and unpacks archives by libarchive, which is loaded when the first object is made.
class FileArchives {
public:
    /// Throws Error if the library can't be loaded.
    FileArchives();
    /// Loads the library, if it is there.
    static void load() noexcept;
    ~FileArchives();
    FileArchives(const FileArchives&) = delete;
    FileArchives& operator=(const FileArchives&) = delete;

    /// Writes everything below `directory`, and that itself, to `to`: content without its holes, links, devices,
    /// owners, modes, times and extended attributes. `ids`: how the tree calls owners. Nothing may be mounted in it.
    /// `apart`: takes the bytes of files, which are empty in the archive then; may be null. Returns the sockets, which
    /// aren't in the archive. Throws Error, also as soon as `stop` is requested; then the archive has no
    /// end.
    [[nodiscard]] std::vector<SocketFile> pack(int directory, int to, const model::IdMap& ids, FileContents* apart,
                                               StopRequest& stop) const;

    /// Makes the files of an archive, which `from` is positioned at, below `directory`. The calling process may have no
    /// other thread: it goes there for the time. Throws Error.
    void unpack(int from, int directory) const;

private:
    std::unique_ptr<const ArchiveFunctions> library_;
};

/// Makes the files of sockets.
void makeSocketFiles(const std::vector<SocketFile>& sockets, int directory);

}  // namespace criu::namespaces
