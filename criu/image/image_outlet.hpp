// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace criu {

class ImageDir;

/// Destination for images of a dump that aren't stored in a directory, such as another program or machine. A dump
/// immediately passes large files (contents of memory) to the outlet. The dump collects small files in a spool, and
/// passes them to the outlet when all images are complete.
class ImageOutlet {
public:
    /// File that criu writes to the outlet.
    class File {
    public:
        virtual ~File() = default;
        File(const File&) = delete;
        File& operator=(const File&) = delete;
        /// Writes bytes at an offset of the file. Ranges without writes read as zeroes. If inOrder() is false,
        /// several threads may write different ranges at the same time. Throws Error.
        virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
        /// Completes the file with a size in bytes. Throws Error. Without this call, the file is incomplete.
        virtual void finish(std::uint64_t size) = 0;

    protected:
        File() = default;
    };

    virtual ~ImageOutlet() = default;
    ImageOutlet(const ImageOutlet&) = delete;
    ImageOutlet& operator=(const ImageOutlet&) = delete;

    /// Begins a file. Any thread may call this function. The outlet must outlive the result. Throws Error.
    [[nodiscard]] virtual std::unique_ptr<File> create(const std::string& name) = 0;

    /// Returns true if the bytes of each file must be written in order, by one thread at a time.
    [[nodiscard]] virtual bool inOrder() const noexcept = 0;

    /// Completes the images, and waits until the receiver has them. Must follow File::finish() of all files. Throws
    /// Error. Without this call, the images are incomplete.
    virtual void finish() = 0;

protected:
    ImageOutlet() = default;
};

/// Files of a directory that sendImages() sends.
enum class Sent {
    All,     ///< all files, for a directory that contains only images
    Images,  ///< only files with names of images (*.img)
};

/// Sends the files of a directory to an outlet, and the inventory after all other files. Throws Error.
void sendImages(const ImageDir& images, ImageOutlet& outlet, Sent what);

}  // namespace criu
