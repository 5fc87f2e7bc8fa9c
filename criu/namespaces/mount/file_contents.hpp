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

/// The bytes of a tmpfs' files, apart from the archive that has all else of them: an archive is made by one thread, and
/// its compression takes 25 s for each gigabyte, while these go the way of memory, by every core.
namespace criu::namespaces {

/// Gathers files of one file system, and then writes what they hold.
class FileContents {
public:
    /// Bytes of a file system from which on it pays off. Less stays in the archive, in the form that CRIU 4.2 reads.
    static constexpr std::uint64_t kWorthwhile = std::uint64_t{16} << 20;

    /// Takes over the bytes of a regular file, at `path` below the directory. False if they have to be in the archive:
    /// there are none, or writing to the file would take rights off it that it gives to whoever runs it.
    bool take(const std::string& path, const struct stat& stat, bool hasCapabilities);

    /// Writes the images of what was taken, numbered `device`; none if that was nothing. Nobody may change the files
    /// meanwhile: one that is found changed is an Error. Throws Error, also as soon as `stop` is requested.
    void write(int directory, const ImageDir& images, std::uint64_t device, memory::PageSinks& sinks,
               StopRequest& stop) const;

private:
    struct File {
        std::string path;
        std::uint64_t start = 0;  ///< its first byte's address
        struct stat stat {};
    };

    [[nodiscard]] const File& at(std::uint64_t address) const;
    void read(int directory, std::uint64_t address, std::span<std::byte> into) const;

    std::vector<File> files_;  ///< ascending by address
    std::uint64_t end_ = 0;    ///< the first address that is free
    std::uint64_t bytes_ = 0;  ///< that the files take in memory
};

/// Fills the files that an archive has made below a directory; nothing if there are no such images. The calling thread
/// may have rights and namespaces of its own: the threads made here have the same, and have ended when this returns.
/// Whoever is to stop is ended by criu's master. Throws Error.
void restoreFileContents(int directory, const ImageDir& images, std::uint64_t device, const memory::PageSources& pages);

}  // namespace criu::namespaces
