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

/// Calls `visit(offset, pages)` for each run of pages that aren't all zeroes. Returns how many bytes the others have.
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

/// Puts blocks into a pages file, pages of zeroes left out. Several threads may write at once, to different places.
///
/// write(2) to one file goes through one lock, which on tmpfs is what limits many threads: 3.5 GB/s on a machine with
/// 16 cores, where stores into a shared mapping reach 6. The latter cost twice the work, though (2.3 against 1.2 GB per
/// second of one core). So a thread writes while no other does, and else copies through a mapping, bit by bit until
/// the lock is free. File systems with a disk below are better off with write(2) alone.
class PagesWriter {
public:
    /// The file must be large enough for what is written: it is extended by its owner (ftruncate).
    explicit PagesWriter(int fd) noexcept : fd_(fd) {}

    /// More than one thread is going to write.
    void share() noexcept;

    /// Both are multiples of kImagePageSize. Returns the bytes left out; their place must be a hole. Throws Error.
    std::uint64_t write(std::uint64_t offset, std::span<const std::byte> content);

private:
    void writeRun(std::uint64_t offset, std::span<const std::byte> run);
    void put(std::uint64_t offset, std::span<const std::byte> bytes) const;
    bool putMapped(std::uint64_t offset, std::span<const std::byte> bytes) noexcept;

    int fd_;
    bool shared_ = false;  ///< take turns
    std::mutex turn_;
    Mapping window_;
    std::atomic<bool> mappable_{false};
};

}  // namespace criu::memory
