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
/// buffer belongs to a device, has a size and is referred to by a descriptor. Only the driver knows how to copy it.
namespace criu::device {

enum class Direction { Save, Load };

/// Function that a copier calls between pieces of a copy. Throws Error if the copy must end.
using StopCheck = std::function<void()>;

/// The content of one buffer and its position in a store.
struct ContentJob {
    UniqueFd buffer;                ///< for example a DMA-BUF
    std::uint64_t size = 0;         ///< bytes
    ContentStore* store = nullptr;  ///< owned by the caller; outlives the job
    std::uint64_t position = 0;     ///< in the store
};

/// A part of a buffer's content. The caller owns all that it refers to.
struct ContentPiece {
    int buffer = -1;
    std::uint64_t start = 0;  ///< in the buffer, a multiple of kImagePageSize
    std::uint64_t size = 0;   ///< bytes, at most kContentPiece
    ContentStore* store = nullptr;
    std::uint64_t position = 0;

    /// Returns the rest of the piece after its first `done` bytes.
    [[nodiscard]] ContentPiece from(std::uint64_t done) const noexcept {
        return {buffer, start + done, size - done, store, position + done};
    }
};

/// Size of a piece, in bytes. Several threads copy pieces of one buffer. Pieces are large, since a driver may have to
/// prepare each.
inline constexpr std::uint64_t kContentPiece = std::uint64_t{64} << 20;

/// Copies contents of one device's buffers in one direction. Used by one thread.
class ContentCopier {
public:
    virtual ~ContentCopier() = default;
    /// Copies a piece. Throws Error if it can't copy all.
    virtual void copy(const ContentPiece& piece) = 0;
    /// Returns why the copier first used a slower way than the device's; empty if it never did.
    [[nodiscard]] virtual const std::string& fallback() const = 0;
};

/// A driver's half of the interface. Several threads may use it.
class ContentDriver {
public:
    virtual ~ContentDriver() = default;
    /// Name for log lines.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Describes a device for messages. `device` is the driver's number of it.
    [[nodiscard]] virtual std::string describe(std::uint32_t device) const = 0;
    /// Creates a copier; called in the thread that uses it. `bufferLimit`: memory for copying, in bytes. Opens nothing:
    /// failures come from copy().
    virtual std::unique_ptr<ContentCopier> makeCopier(std::uint32_t device, Direction direction,
                                                      std::uint64_t bufferLimit, StopCheck checkStop) = 0;
    /// Opens a file of the driver's form to load contents. Throws Error if it has fewer than `size` bytes of content.
    virtual std::unique_ptr<FileContents> openContent(const ImageDir& images, const std::string& file,
                                                      std::uint64_t size) = 0;
};

}  // namespace criu::device
