// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace criu {
class ImageDir;
class StopRequest;
}  // namespace criu

namespace criu::memory {
class PageSinks;
class PageSources;
}  // namespace criu::memory

/// Contents of a tmpfs' files, dumped apart from the archive that has the files' other properties. One thread
/// compresses the archive, which takes 25 s for each gigabyte. Page sinks write contents with several threads.
namespace criu::namespaces {

/// Collects files of one file system and then writes their contents.
class FileContents {
public:
    /// Size of a file system from which on its contents are dumped apart. Smaller ones stay in the archive, the form
    /// that CRIU 4.2 reads.
    static constexpr std::uint64_t kWorthwhile = std::uint64_t{16} << 20;

    /// Takes the content of a regular file at `path` below the directory. Returns false if the archive must contain it:
    /// it is empty, or a write would clear its set-id bits or file capabilities.
    bool take(const std::string& path, const struct stat& stat, bool hasCapabilities);

    /// Writes the images of all taken contents, numbered `device`; none if no file was taken. The files mustn't change
    /// during the call. Throws Error if a file has changed, and as soon as `stop` is requested.
    void write(int directory, const ImageDir& images, std::uint64_t device, memory::PageSinks& sinks,
               StopRequest& stop) const;

private:
    struct File {
        std::string path;
        std::uint64_t start = 0;  ///< address of the first byte
        struct stat stat {};
    };

    [[nodiscard]] const File& at(std::uint64_t address) const;
    void read(int directory, std::uint64_t address, std::span<std::byte> into) const;

    std::vector<File> files_;  ///< ascending by address
    std::uint64_t end_ = 0;    ///< first free address
    std::uint64_t bytes_ = 0;  ///< memory that the files use
};

/// Fills the files that an archive has created below a directory. Does nothing without images of contents. The worker
/// threads have the caller's credentials and namespaces, and end before the function returns. To stop a restore, the
/// coordinator kills the process. Throws Error.
void restoreFileContents(int directory, const ImageDir& images, std::uint64_t device, const memory::PageSources& pages);

}  // namespace criu::namespaces
