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

/// Pages file that a dump writes, to any destination. The caller chooses the file offsets, because it writes either
/// plain or compressed content.
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

    /// Writes complete pages within the file size. May omit zero pages, and returns the number of omitted bytes.
    /// Several threads may write to different offsets at the same time, but must begin the calls in ascending order of
    /// offsets. Throws Error.
    virtual std::uint64_t write(std::uint64_t offset, std::span<const std::byte> pages) = 0;

    /// Writes pieces of any length one after another, and removes written pieces from `pieces`. If necessary, enlarges
    /// the file. Threads, order and errors: as for write().
    virtual void writePieces(std::uint64_t offset, std::span<iovec> pieces) = 0;

    /// Completes the file. Must follow all writes. Throws Error.
    virtual void finish() {}

    /// Makes waiting calls throw Error, because a thread has failed and its data will be missing. Any thread may call
    /// it.
    virtual void abandon() noexcept {}

protected:
    PagesStore() = default;
};

/// Creates the pages image with number `number`. Throws Error.
[[nodiscard]] std::unique_ptr<PagesStore> createPagesStore(const ImageDir& images, std::uint32_t number);

}  // namespace criu::memory
