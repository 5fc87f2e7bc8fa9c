// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace criu {

class ImageDir;

/// Where a dump's images go that don't stay in a directory: another program, another machine. Files that are large
/// (contents of memory) go there while they are made; small ones are made in a directory (Spool) and go when the dump
/// is complete.
class ImageOutlet {
public:
    /// A file on its way.
    class File {
    public:
        virtual ~File() = default;
        File(const File&) = delete;
        File& operator=(const File&) = delete;
        /// Several threads may write at once, to different places; but see inOrder(). What isn't written is zeroes.
        /// Throws Error.
        virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
        /// All was written; the file is that long. Without it the file is incomplete. Throws Error.
        virtual void finish(std::uint64_t size) = 0;

    protected:
        File() = default;
    };

    virtual ~ImageOutlet() = default;
    ImageOutlet(const ImageOutlet&) = delete;
    ImageOutlet& operator=(const ImageOutlet&) = delete;

    /// Begins a file; for any thread. Throws Error. The file must not outlive this object.
    [[nodiscard]] virtual std::unique_ptr<File> create(const std::string& name) = 0;

    /// Whether a file's bytes have to be written by one thread at a time, from the first to the last.
    [[nodiscard]] virtual bool inOrder() const noexcept = 0;

    /// All files are finished: returns when the other side has the whole. Without it nothing is complete. Throws Error.
    virtual void finish() = 0;

protected:
    ImageOutlet() = default;
};

/// What of a directory is sent.
enum class Sent {
    All,     ///< it has nothing but images
    Images,  ///< other things lie there, too: what is named as images are (*.img)
};

/// Sends the files of a directory, the inventory last. Throws Error.
void sendImages(const ImageDir& images, ImageOutlet& outlet, Sent what);

}  // namespace criu
