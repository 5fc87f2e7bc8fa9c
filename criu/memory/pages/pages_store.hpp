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

/// A pages file that is being written, wherever it goes. The layers above (plain, compressed … content) decide what is
/// at which offset of it, and know nothing of files.
class PagesStore {
public:
    virtual ~PagesStore() = default;
    PagesStore(const PagesStore&) = delete;
    PagesStore& operator=(const PagesStore&) = delete;

    /// The file will be as long as that, whatever is written: what isn't is zeroes. Only grows; for one thread, while
    /// others write. Throws Error.
    virtual void resize(std::uint64_t size) = 0;

    /// Several threads are going to write. Before any of them does.
    virtual void share() {}

    /// Writes whole pages, of which those of zeroes may be left out: returns the bytes left out. Several threads may
    /// write to different places at once, all of it within the size. A write at a lower offset is always under way or
    /// done when one at a higher offset comes. Throws Error.
    virtual std::uint64_t write(std::uint64_t offset, std::span<const std::byte> pages) = 0;

    /// Writes pieces of any length behind one another, which may go beyond the size. `pieces` is used up by the call.
    /// Otherwise as write().
    virtual void writePieces(std::uint64_t offset, std::span<iovec> pieces) = 0;

    /// All was written. Throws Error.
    virtual void finish() {}

    /// Some of it won't be written: calls that wait for other ones end with an Error. For any thread.
    virtual void abandon() noexcept {}

protected:
    PagesStore() = default;
};

/// Makes ImageKind::Pages number `number`. Throws Error.
[[nodiscard]] std::unique_ptr<PagesStore> createPagesStore(const ImageDir& images, std::uint32_t number);

}  // namespace criu::memory
