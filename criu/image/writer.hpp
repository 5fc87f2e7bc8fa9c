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

/// All bytes of an image that has one record. Error when a required field is unset.
[[nodiscard]] std::vector<std::byte> imageOf(ImageKind kind, const ProtobufCMessage& record);

/// Writes an image: magics, then records and payload. Output is buffered, so that a small image takes one write(2).
/// Nothing is known to be written before finish() returned; a writer destroyed without it leaves an incomplete file,
/// as happens when an exception passes by. One writer belongs to one thread; different writers are independent.
class ImageWriter {
public:
    /// Takes over `fd`, an empty file or the write end of a pipe. Raw kinds get no header and take payload only.
    ImageWriter(UniqueFd fd, ImageKind kind, std::string name);
    ~ImageWriter();
    ImageWriter(ImageWriter&&) noexcept;
    ImageWriter& operator=(ImageWriter&&) noexcept;

    /// Puts the file's checksums there when it is finished, unless flush() has handed out its descriptor. Before
    /// anything is written.
    void sumInto(std::shared_ptr<WrittenSums> sums);

    /// Appends a record. Error when a required field is unset.
    template <Message T>
    void write(const T& message) {
        writeAny(asBase(message));
    }
    /// Same, for a message whose type is known at run time only.
    void writeAny(const ProtobufCMessage& message);

    /// Appends bytes as they are.
    void payload(std::span<const std::byte> bytes);

    /// Appends zero bytes, e.g. to fill up to an alignment.
    void zeros(std::size_t count);

    /// Writes out what is buffered, and returns the descriptor: bytes written to it at its current position (write,
    /// splice, copy_file_range) follow what was appended so far.
    int flush();

    /// Flushes and closes. Errors of both are thrown: a full disk shows here.
    void finish();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    void writeOut();
    void writeAll(std::span<const std::byte> bytes);

    UniqueFd fd_;
    std::string name_;
    std::vector<std::byte> buffer_;
    std::shared_ptr<WrittenSums> sums_;  ///< null: nobody wants checksums
    std::unique_ptr<FileSumming> summing_;
};

}  // namespace criu
