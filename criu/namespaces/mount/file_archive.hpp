// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>
#include <time.h>

#include <memory>
#include <string>
#include <vector>

#include "criu/base/stop_request.hpp"
#include "criu/model/id_map.hpp"

/// Files of a file system in memory as a compressed tar archive, as CRIU's images have them.
namespace criu::namespaces {

/// File of a socket. Tar archives can't contain it.
struct SocketFile {
    std::string path;  ///< below the archived directory
    mode_t mode = 0;   ///< permissions
    uid_t user = 0;
    gid_t group = 0;
    timespec modified{};
};

struct ArchiveFunctions;
class FileContents;

/// Packs and unpacks archives with libarchive. The first object loads the library.
class FileArchives {
public:
    /// Throws Error if the library can't be loaded.
    FileArchives();
    /// Loads the library if it is installed.
    static void load() noexcept;
    ~FileArchives();
    FileArchives(const FileArchives&) = delete;
    FileArchives& operator=(const FileArchives&) = delete;

    /// Writes `directory` and everything below it to `to`: content without holes, links, devices, owners, modes, times
    /// and extended attributes. No file system may be mounted below it. `ids`: translates owners to those of the tree.
    /// `apart`: takes contents of files, which are then empty in the archive; may be null. Returns the sockets, which
    /// the archive doesn't contain. Throws Error, also as soon as `stop` is requested; the archive is then incomplete.
    [[nodiscard]] std::vector<SocketFile> pack(int directory, int to, const model::IdMap& ids, FileContents* apart,
                                               StopRequest& stop) const;

    /// Creates the files of an archive below `directory`; `from` is positioned at the archive. The calling process must
    /// have one thread, because its current directory changes during the call. Throws Error.
    void unpack(int from, int directory) const;

private:
    std::unique_ptr<const ArchiveFunctions> library_;
};

/// Creates the files of sockets.
void makeSocketFiles(const std::vector<SocketFile>& sockets, int directory);

}  // namespace criu::namespaces
