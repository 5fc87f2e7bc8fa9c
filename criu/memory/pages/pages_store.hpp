// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace criu {
class ImageDir;
}

namespace criu::memory {

/// Pages file that is being written, to any destination. The layers above (plain or compressed content) choose
/// offsets.
class PagesStore {
public:
    virtual ~PagesStore() = default;
    PagesStore(const PagesStore&) = delete;
    PagesStore& operator=(const PagesStore&) = delete;

    /// Enlarges the file; unwritten parts are zeroes. One thread may call it, while others write. Throws Error.
    virtual void resize(std::uint64_t size) = 0;

    /// Announces that several threads will write. Must precede their writes.
    virtual void share() {}

    /// Writes whole pages within the size, and may omit zero pages. Returns the omitted bytes. Several threads may
    /// write to different offsets at once. Callers start writes in order of offsets. Throws Error.
    virtual std::uint64_t write(std::uint64_t offset, std::span<const std::byte> pages) = 0;

    /// Writes pieces of any length one after another, also beyond the size, and consumes `pieces`. Threads, order and
    /// errors are as for write().
    virtual void writePieces(std::uint64_t offset, std::span<iovec> pieces) = 0;

    /// Completes the file after all writes. Throws Error.
    virtual void finish() {}

    /// Ends waiting calls with an Error, because data will be missing. Any thread may call it.
    virtual void abandon() noexcept {}

protected:
    PagesStore() = default;
};

/// Creates the ImageKind::Pages image `number`. Throws Error.
[[nodiscard]] std::unique_ptr<PagesStore> createPagesStore(const ImageDir& images, std::uint32_t number);

}  // namespace criu::memory
