// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "criu/files/ring_answers.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/io_uring.hpp"
#include "images/io-uring.hpp"

namespace criu::files {

/// Whether a ring is one that answers a single thread only (IORING_SETUP_SINGLE_ISSUER), which isn't the caller.
[[nodiscard]] bool belongsToAnother(int ring) noexcept;

/// Asks for all answers but the last. `ask`: makes the request at kNowhere with a count of 1; returns an errno value.
[[nodiscard]] RingAnswers askRing(const std::function<int(unsigned request)>& ask);

/// An address from which the kernel can't copy, whoever asks: programs may have mapped the first page, but never the
/// last one.
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0xfff};

/// What asks for a group of provided buffers (struct io_uring_buf_status of Linux 6.8). The answer is ENOENT if there
/// is none of that number.
struct BufferGroupStatus {
    std::uint32_t group = 0;
    std::uint32_t head = 0;
    std::uint32_t reserved[8] = {};
};
inline constexpr std::uint32_t kBufferGroups = 65536;
/// Whether the kernel answers that. Throws Error.
[[nodiscard]] bool reportsBufferGroups();

/// Finds out what no file of /proc says of a ring whose program stands still: how it was set up, and what is registered
/// with it. Most answers come from requests that are refused in one way or another.
class IoUringProbe {
public:
    /// `ring`: a descriptor of it here; stays the caller's and must outlive this. Throws Error if the program's part of
    /// the ring is nowhere to be found. `owners`: what the thread is answered that the ring belongs to; may be null.
    IoUringProbe(int ring, const kernel::IoUringInfo& info, const RingAnswers* owners);

    /// Why the ring can't be dumped ("that …"); empty if nothing stands against it.
    [[nodiscard]] std::string whatCantBeCarried();
    /// To be asked when nothing stands against it.
    [[nodiscard]] bool hasEventFd() const noexcept;
    /// Sizes, counters and contents.
    void store(IoUringEntry& out, Arena& arena) const;

private:
    void findSizes();
    [[nodiscard]] std::optional<std::uint32_t> firstBufferGroup() const;
    [[nodiscard]] io_uring_params alike(std::uint32_t flags) const;
    [[nodiscard]] std::optional<std::uint32_t> firstIndex(const io_uring_params& parameters) const;

    int ring_;
    const kernel::IoUringInfo& info_;
    const RingAnswers* owners_;
    RingAnswers answers_;
    std::uint32_t flags_ = 0;  ///< IORING_SETUP_
    std::string doubt_;        ///< why the flags couldn't be found out
};

}  // namespace criu::files
