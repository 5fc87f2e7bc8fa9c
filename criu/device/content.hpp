// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"
#include "criu/device/content_store.hpp"

/// What a driver does for the engine that moves the contents of device buffers between devices and a checkpoint
/// (ContentMover, ContentChannel). The engine knows of buffers only that each belongs to a device, has a size and is
/// held by a descriptor; a driver knows how to copy one.
namespace criu::device {

enum class Direction { Save, Load };

/// Called between the pieces of a copy; throws Error if the copy is to end.
using StopCheck = std::function<void()>;

/// The content of one buffer and its place.
struct ContentJob {
    UniqueFd buffer;                ///< such as a DMA-BUF
    std::uint64_t size = 0;         ///< bytes
    ContentStore* store = nullptr;  ///< stays the caller's, and outlives the job
    std::uint64_t position = 0;     ///< there
};

/// A part of such a content. All stays the caller's.
struct ContentPiece {
    int buffer = -1;
    std::uint64_t start = 0;  ///< in the buffer, a multiple of kImagePageSize
    std::uint64_t size = 0;   ///< bytes, at most kContentPiece
    ContentStore* store = nullptr;
    std::uint64_t position = 0;

    /// What is left of it behind its first bytes.
    [[nodiscard]] ContentPiece from(std::uint64_t done) const noexcept {
        return {buffer, start + done, size - done, store, position + done};
    }
};

/// Buffers are copied in pieces of this many bytes, so that several threads may work for one buffer. Large, since a
/// driver may have to prepare something for each.
inline constexpr std::uint64_t kContentPiece = std::uint64_t{64} << 20;

/// Copies contents of one device's buffers, in one direction. Used by one thread.
class ContentCopier {
public:
    virtual ~ContentCopier() = default;
    /// Throws Error if not everything was copied.
    virtual void copy(const ContentPiece& piece) = 0;
    /// Why it had to take a slower way than the device's own, for the first time; empty if it never had to.
    [[nodiscard]] virtual const std::string& fallback() const = 0;
};

/// A driver's side of the engine. May be used by several threads.
class ContentDriver {
public:
    virtual ~ContentDriver() = default;
    /// For log lines.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// A device in messages; `device` is the driver's own number for it.
    [[nodiscard]] virtual std::string describe(std::uint32_t device) const = 0;
    /// Called in the thread that is going to use it. `bufferLimit`: most bytes of memory it may use to copy through.
    /// Opens nothing yet: what fails, fails in copy().
    virtual std::unique_ptr<ContentCopier> makeCopier(std::uint32_t device, Direction direction,
                                                      std::uint64_t bufferLimit, StopCheck checkStop) = 0;
    /// A file of the driver's own form that contents are loaded from; throws Error if there are fewer than `size` bytes
    /// of them.
    virtual std::unique_ptr<FileContents> openContent(const ImageDir& images, const std::string& file,
                                                      std::uint64_t size) = 0;
};

}  // namespace criu::device
