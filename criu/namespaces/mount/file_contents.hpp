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

/// Contents of tmpfs files that are dumped outside of the archive; the archive contains all other properties of the
/// files. One thread compresses the archive, and takes 25 s per gigabyte. Page sinks write contents by several threads.
namespace criu::namespaces {

/// Collector of the regular files of a file system. It writes their contents.
class FileContents {
public:
    /// Minimum total size in bytes of a file system's contents for which criu dumps them outside of the archive. CRIU
    /// 4.2 can read only contents in the archive.
    static constexpr std::uint64_t kWorthwhile = std::uint64_t{16} << 20;

    /// Adds a regular file at `path` below the directory. Returns false if the content must be in the archive. This is
    /// so for an empty file, and for a file whose set-user-ID bits, set-group-ID bits or file capabilities a write
    /// would clear.
    bool take(const std::string& path, const struct stat& stat, bool hasCapabilities);

    /// Writes the images with the contents of all added files, with the image number `device`. Writes none if no file
    /// was added. The files must not change during the call. Throws Error if a file has changed, or if a stop is
    /// requested.
    void write(int directory, const ImageDir& images, std::uint64_t device, memory::PageSinks& sinks,
               StopRequest& stop) const;

private:
    struct File {
        std::string path;
        std::uint64_t start = 0;  ///< address of the first byte in the memory object
        struct stat stat {};
    };

    [[nodiscard]] const File& at(std::uint64_t address) const;
    void read(int directory, std::uint64_t address, std::span<std::byte> into) const;

    std::vector<File> files_;  ///< files in ascending order of addresses
    std::uint64_t end_ = 0;    ///< first address that no file has
    std::uint64_t bytes_ = 0;  ///< bytes of storage that the files use
};

/// Fills the files that an archive has created below a directory. Does nothing if the images have no contents outside
/// of the archive. The threads have the caller's credentials and namespaces, and end before the function returns. Can
/// only be stopped by the coordinator, which kills the process. Throws Error.
void restoreFileContents(int directory, const ImageDir& images, std::uint64_t device, const memory::PageSources& pages);

}  // namespace criu::namespaces
