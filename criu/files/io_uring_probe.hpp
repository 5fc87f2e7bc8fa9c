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

/// True if a ring serves only one thread (IORING_SETUP_SINGLE_ISSUER) and the caller isn't that thread.
[[nodiscard]] bool belongsToAnother(int ring) noexcept;

/// Collects all answers but the last. `ask`: makes the request at kNowhere with a count of 1; returns an errno value.
[[nodiscard]] RingAnswers askRing(const std::function<int(unsigned request)>& ask);

/// An address that the kernel can't read in any process: a program may map the first page, but never the last.
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0xfff};

/// Argument of a query for a group of provided buffers (struct io_uring_buf_status of Linux 6.8). The kernel returns
/// ENOENT if no group has this number.
struct BufferGroupStatus {
    std::uint32_t group = 0;
    std::uint32_t head = 0;
    std::uint32_t reserved[8] = {};
};
inline constexpr std::uint32_t kBufferGroups = 65536;
/// True if the kernel supports that query. Throws Error.
[[nodiscard]] bool reportsBufferGroups();

/// Finds properties of a frozen program's ring that /proc doesn't show: setup flags and registered objects. Most
/// results come from requests that the kernel refuses.
class IoUringProbe {
public:
    /// `ring`: a descriptor that stays the caller's and outlives this object. Throws Error if the program's part of the
    /// ring can't be found. `owners`: answers that the ring owner got; may be null.
    IoUringProbe(int ring, const kernel::IoUringInfo& info, const RingAnswers* owners);

    /// Returns why the ring can't be dumped ("that …"); empty if it can.
    [[nodiscard]] std::string whatCantBeCarried();
    /// Valid if the ring can be dumped.
    [[nodiscard]] bool hasEventFd() const noexcept;
    /// Stores sizes, counters and contents.
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
    std::uint32_t flags_ = 0;  ///< IORING_SETUP_…
    std::string doubt_;        ///< why the flags are unknown
};

}  // namespace criu::files
