// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "criu/base/mapping.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/memory/pages/zero.hpp"

namespace criu::memory {

/// Calls `visit(offset, pages)` for each run of pages that aren't all zeroes. Returns the bytes of zero pages.
template <typename Visit>
std::uint64_t forEachNonZero(std::span<const std::byte> content, const Visit& visit) {
    std::uint64_t zeroes = 0;
    std::size_t at = 0;
    while (at < content.size()) {
        if (isZero(content.subspan(at, kImagePageSize))) {
            zeroes += kImagePageSize;
            at += kImagePageSize;
            continue;
        }
        const std::size_t from = at;
        do {
            at += kImagePageSize;
        } while (at < content.size() && !isZero(content.subspan(at, kImagePageSize)));
        visit(from, content.subspan(from, at - from));
    }
    return zeroes;
}

/// Writer of blocks to a pages file, which omits zero pages. Several threads may write to different offsets at the same
/// time.
///
/// On tmpfs, write(2) holds a lock of the file, so that 16 cores write only 3.5 GB/s. Stores to a shared mapping of the
/// file reach 6 GB/s, but take twice the processor time (1.2 against 2.3 GB per second of one core). Thus a thread
/// calls write(2) if no other thread does. If another thread is in write(2), the thread copies through the mapping,
/// step by step, until the lock is free. On other file systems, all threads call write(2), because it is faster there.
class PagesWriter {
public:
    /// The owner of the file must enlarge it (ftruncate(2)) before a write.
    explicit PagesWriter(int fd) noexcept : fd_(fd) {}

    /// Announces that several threads will write.
    void share() noexcept;

    /// Writes complete pages; `offset` and the size are multiples of kImagePageSize. Returns the number of bytes of
    /// omitted zero pages; the file must have a hole there. Throws Error.
    std::uint64_t write(std::uint64_t offset, std::span<const std::byte> content);

private:
    void writeRun(std::uint64_t offset, std::span<const std::byte> run);
    void put(std::uint64_t offset, std::span<const std::byte> bytes) const;
    bool putMapped(std::uint64_t offset, std::span<const std::byte> bytes) noexcept;

    int fd_;
    bool shared_ = false;  ///< true after share() if the file is on tmpfs
    std::mutex turn_;      ///< held by the thread that calls write(2)
    Mapping window_;
    std::atomic<bool> mappable_{false};
};

}  // namespace criu::memory
