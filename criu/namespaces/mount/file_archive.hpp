// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "criu/base/stop_request.hpp"
#include "criu/model/id_map.hpp"

/// Compressed tar archives with the files of a file system in memory, in the form of CRIU's images.
namespace criu::namespaces {

/// Socket file, which a tar archive can't contain.
struct SocketFile {
    std::string path;  ///< path below the archived directory
    mode_t mode = 0;   ///< permission bits
    uid_t user = 0;
    gid_t group = 0;
    timespec modified{};
};

/// File of an archive, for comparisons.
struct ArchivedFile {
    std::string path;
    mode_t mode = 0;
    uid_t user = 0;
    gid_t group = 0;
    std::uint64_t size = 0;    ///< bytes, with holes
    std::uint64_t device = 0;  ///< number of a device node; 0 for other files
    timespec modified{};
    std::string target;                             ///< target of a link; empty for other files
    std::map<std::string, std::string> attributes;  ///< extended attributes
    std::size_t content = 0;                        ///< ContentHash of the content
};

struct ArchiveFunctions;
class FileContents;

/// Packer and unpacker of archives with libarchive.
class FileArchives {
public:
    /// Loads the library. Throws Error if this fails.
    FileArchives();
    /// Loads the library if it is installed, and ignores failures.
    static void load() noexcept;
    ~FileArchives();
    FileArchives(const FileArchives&) = delete;
    FileArchives& operator=(const FileArchives&) = delete;

    /// Writes an archive of `directory` and all files below it to descriptor `to`. The archive contains contents
    /// without holes, links, devices, owners, modes, times and extended attributes. No file system may be mounted below
    /// `directory`. `ids`: id map by which owners become those of the tree. `apart`: collector for contents of files,
    /// which are then empty in the archive; may be null. Returns the socket files, because an archive can't contain
    /// them. Throws Error, for instance if a stop is requested; the archive is then incomplete.
    [[nodiscard]] std::vector<SocketFile> pack(int directory, int to, const model::IdMap& ids, FileContents* apart,
                                               StopRequest& stop) const;

    /// Form of the files that forEachFile() and unpack() read.
    enum class Form {
        Archive,  ///< an archive, which libarchive parses
        List,     ///< a list of writeList(), which criu parses
    };

    /// Writes a list (FileListWriter) of the files of an archive to the file `to`. Reads and writes only these two
    /// descriptors, so a confined process may call it. `from`: file whose offset is the start of the archive. Throws
    /// Error.
    void writeList(int from, int to) const;

    /// Calls `visit` for each file of an archive or list with the size of its content, without holes. An exception of
    /// `visit` ends the reading. `from`: file whose offset is the start of the archive. Throws Error.
    void forEachFile(int from, Form form, const std::function<void(std::uint64_t bytes)>& visit) const;

    /// Returns all files of an archive. `from`: file whose offset is the start of the archive. Throws Error.
    [[nodiscard]] std::vector<ArchivedFile> list(int from) const;

    /// Creates the files of an archive or list below `directory`. `from`: file whose offset is the start of the
    /// archive. The calling process must have only one thread, because its current directory changes during the call.
    /// Throws Error.
    void unpack(int from, Form form, int directory) const;

private:
    std::unique_ptr<const ArchiveFunctions> library_;
};

/// Creates socket files below `directory`. Throws Error.
void makeSocketFiles(const std::vector<SocketFile>& sockets, int directory);

}  // namespace criu::namespaces
