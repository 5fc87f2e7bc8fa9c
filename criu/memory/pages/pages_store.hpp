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

/// Pages file that a dump writes, to any destination. The caller, which writes plain or compressed content, chooses the
/// file offsets.
class PagesStore {
public:
    virtual ~PagesStore() = default;
    PagesStore(const PagesStore&) = delete;
    PagesStore& operator=(const PagesStore&) = delete;

    /// Enlarges the file; parts that aren't written contain zeroes. One thread may call it while others write. Throws
    /// Error.
    virtual void resize(std::uint64_t size) = 0;

    /// Announces that several threads will write. Must precede the writes of these threads.
    virtual void share() {}

    /// Writes whole pages within the file size. It may omit zero pages, and returns the number of omitted bytes.
    /// Several threads may write to different offsets at the same time, but must begin the writes in ascending order of
    /// offsets. Throws Error.
    virtual std::uint64_t write(std::uint64_t offset, std::span<const std::byte> pages) = 0;

    /// Writes pieces of any length one after another, and removes written pieces from `pieces`. Enlarges the file if
    /// necessary. The rules of write() for threads, order and errors apply.
    virtual void writePieces(std::uint64_t offset, std::span<iovec> pieces) = 0;

    /// Completes the file. Must follow all writes. Throws Error.
    virtual void finish() {}

    /// Makes waiting calls throw Error, because data will be missing. Any thread may call it.
    virtual void abandon() noexcept {}

protected:
    PagesStore() = default;
};

/// Creates the pages image with number `number`. Throws Error.
[[nodiscard]] std::unique_ptr<PagesStore> createPagesStore(const ImageDir& images, std::uint32_t number);

}  // namespace criu::memory
