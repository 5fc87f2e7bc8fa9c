// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/record.hpp"

namespace criu {

class FileSumming;
class WrittenSums;

/// Returns the bytes of an image with one record. Throws Error if a required field is unset.
[[nodiscard]] std::vector<std::byte> imageOf(ImageKind kind, const ProtobufCMessage& record);

/// Writer of an image: magics, then records and payload. It buffers output, so that a small image needs only one
/// write(2). The file is incomplete until finish() has returned. Only one thread may use a writer.
class ImageWriter {
public:
    /// Becomes the owner of `fd`: an empty file, or the write end of a pipe. Raw kinds have no magics and only payload.
    ImageWriter(UniqueFd fd, ImageKind kind, std::string name);
    ~ImageWriter();
    ImageWriter(ImageWriter&&) noexcept;
    ImageWriter& operator=(ImageWriter&&) noexcept;

    /// Makes finish() add the checksums of the file to `sums`, unless flush() is called. Must precede all writes.
    void sumInto(std::shared_ptr<WrittenSums> sums);

    /// Appends a record. Throws Error if a required field is unset.
    template <Message T>
    void write(const T& message) {
        writeAny(asBase(message));
    }
    /// Appends a record with a message type that is known only at run time.
    void writeAny(const ProtobufCMessage& message);

    /// Appends payload: bytes outside of records.
    void payload(std::span<const std::byte> bytes);

    /// Appends zero bytes, for instance for alignment.
    void zeros(std::size_t count);

    /// Writes the buffer to the file and returns the file's descriptor. The caller may then write to the descriptor
    /// (write, splice, copy_file_range). The writer continues after these bytes.
    int flush();

    /// Writes the buffer and closes the file. Throws Error if writing or closing fails, for instance because the disk
    /// is full.
    void finish();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    void writeOut();
    void writeAll(std::span<const std::byte> bytes);

    UniqueFd fd_;
    std::string name_;
    std::vector<std::byte> buffer_;
    std::shared_ptr<WrittenSums> sums_;  ///< object that gets the checksums of the file; null for no checksums
    std::unique_ptr<FileSumming> summing_;
};

}  // namespace criu
