// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"
#include "criu/device/content_store.hpp"

/// Interface between drivers and the code that moves contents of device buffers (ContentMover, ContentChannel). A
/// buffer belongs to a device and has a size; a descriptor refers to the buffer. Only the driver can copy the content
/// of a buffer.
namespace criu::device {

enum class Direction { Save, Load };

/// Function that a copier calls between the parts of a copy. It throws Error if the copy must end.
using StopCheck = std::function<void()>;

/// Task for a mover: copy the content of one buffer from or to a store.
struct ContentJob {
    UniqueFd buffer;                ///< descriptor of the buffer, for example a DMA-BUF
    std::uint64_t size = 0;         ///< size of the content in bytes
    ContentStore* store = nullptr;  ///< store that the caller owns; it must outlive the job
    std::uint64_t position = 0;     ///< position of the content in the store
};

/// Part of a buffer's content. The caller owns the buffer and the store.
struct ContentPiece {
    int buffer = -1;
    std::uint64_t start = 0;  ///< offset in the buffer; a multiple of kImagePageSize
    std::uint64_t size = 0;   ///< size in bytes, at most kContentPiece
    ContentStore* store = nullptr;
    std::uint64_t position = 0;

    /// Returns the piece without its first `done` bytes.
    [[nodiscard]] ContentPiece from(std::uint64_t done) const noexcept {
        return {buffer, start + done, size - done, store, position + done};
    }
};

/// Maximal size of a piece in bytes. Several threads copy pieces of one buffer. Pieces are large, because a driver may
/// have to prepare each one.
inline constexpr std::uint64_t kContentPiece = std::uint64_t{64} << 20;

/// Copier of contents in one direction, for the buffers of one device. Only one thread uses it.
class ContentCopier {
public:
    virtual ~ContentCopier() = default;
    /// Copies a piece. Throws Error if it can't copy all bytes.
    virtual void copy(const ContentPiece& piece) = 0;
    /// Returns the reason why the copier has used a slower method than the driver's usual one; empty if it never has.
    [[nodiscard]] virtual const std::string& fallback() const = 0;
};

/// Interface that a driver implements. Several threads may use one object.
class ContentDriver {
public:
    virtual ~ContentDriver() = default;
    /// Returns the name of the driver for log lines.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Returns a description of a device for messages. `device` is the number that the driver uses for it.
    [[nodiscard]] virtual std::string describe(std::uint32_t device) const = 0;
    /// Creates a copier, in the thread that uses it. `bufferLimit`: maximum memory for copying, in bytes. Opens no
    /// device, so that failures occur only in copy().
    virtual std::unique_ptr<ContentCopier> makeCopier(std::uint32_t device, Direction direction,
                                                      std::uint64_t bufferLimit, StopCheck checkStop) = 0;
    /// Opens a file in the format of the driver, to load contents from it. Throws Error if the file has less than
    /// `size` bytes of content.
    virtual std::unique_ptr<FileContents> openContent(const ImageDir& images, const std::string& file,
                                                      std::uint64_t size) = 0;
};

}  // namespace criu::device
