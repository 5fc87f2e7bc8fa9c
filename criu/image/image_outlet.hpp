// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace criu {

class ImageDir;

/// Destination of images that don't stay in a directory: another program or machine. Large files (contents of
/// memory) go there at once. Small ones are first made in a directory (Spool) and sent when the dump is complete.
class ImageOutlet {
public:
    /// A file in transit.
    class File {
    public:
        virtual ~File() = default;
        File(const File&) = delete;
        File& operator=(const File&) = delete;
        /// Writes bytes at an offset. Several threads may write different ranges at the same time unless inOrder()
        /// is true. Unwritten ranges are zeroes. Throws Error.
        virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
        /// Completes the file with this size. Throws Error. Without this call the file is incomplete.
        virtual void finish(std::uint64_t size) = 0;

    protected:
        File() = default;
    };

    virtual ~ImageOutlet() = default;
    ImageOutlet(const ImageOutlet&) = delete;
    ImageOutlet& operator=(const ImageOutlet&) = delete;

    /// Begins a file. Any thread may call it. The file must not outlive this object. Throws Error.
    [[nodiscard]] virtual std::unique_ptr<File> create(const std::string& name) = 0;

    /// True if one thread at a time has to write a file, from the first byte to the last.
    [[nodiscard]] virtual bool inOrder() const noexcept = 0;

    /// Completes the images after all files, and waits until the receiver has them. Throws Error. Without this call
    /// the images are incomplete.
    virtual void finish() = 0;

protected:
    ImageOutlet() = default;
};

/// Files of a directory to send.
enum class Sent {
    All,     ///< all: the directory has only images
    Images,  ///< only files with names of images (*.img)
};

/// Sends the files of a directory, the inventory last. Throws Error.
void sendImages(const ImageDir& images, ImageOutlet& outlet, Sent what);

}  // namespace criu
