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

/// Returns true if only one thread may use the ring (IORING_SETUP_SINGLE_ISSUER), and the calling thread isn't that
/// thread.
[[nodiscard]] bool belongsToAnother(int ring) noexcept;

/// Makes all requests to a ring except the query for `bufferGroup`, and returns their results. `ask`: makes one request
/// with the address kNowhere and a count of 1; returns an errno value.
[[nodiscard]] RingAnswers askRing(const std::function<int(unsigned request)>& ask);

/// Address that the kernel can't read in any process. The last page is never mapped; a program might map the first
/// page.
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0xfff};

/// Argument of a query for a group of provided buffers (struct io_uring_buf_status of Linux 6.8). The kernel returns
/// ENOENT if the ring has no group with this number.
struct BufferGroupStatus {
    std::uint32_t group = 0;
    std::uint32_t head = 0;
    std::uint32_t reserved[8] = {};
};
inline constexpr std::uint32_t kBufferGroups = 65536;
/// Returns true if the kernel supports the query with BufferGroupStatus. Throws Error.
[[nodiscard]] bool reportsBufferGroups();

/// Probe of a frozen program's ring. It finds properties that /proc doesn't show: setup flags and registered objects.
/// Most results are the error codes with which the kernel refuses requests.
class IoUringProbe {
public:
    /// `ring`: descriptor of the caller, which must outlive this object. `owners`: results of requests that the ring
    /// owner made; may be null. Throws Error if criu can't find the program's memory of the ring.
    IoUringProbe(int ring, const kernel::IoUringInfo& info, const RingAnswers* owners);

    /// Returns the reason why criu can't dump the ring ("that …"), or an empty text if criu can dump it.
    [[nodiscard]] std::string whatCantBeCarried();
    /// Returns true if an eventfd is registered. Valid after whatCantBeCarried() has returned an empty text.
    [[nodiscard]] bool hasEventFd() const noexcept;
    /// Stores sizes, counters and contents of the ring in `out`.
    void store(IoUringEntry& out, Arena& arena) const;

private:
    void findSizes();
    /// Returns the position of the first request that fdinfo shows during the probe.
    [[nodiscard]] std::uint32_t shownRequest() const noexcept;
    [[nodiscard]] std::optional<std::uint32_t> firstBufferGroup() const;
    [[nodiscard]] io_uring_params alike(std::uint32_t flags) const;
    [[nodiscard]] std::optional<std::uint32_t> firstIndex(const io_uring_params& parameters) const;

    int ring_;
    const kernel::IoUringInfo& info_;
    const RingAnswers* owners_;
    RingAnswers answers_;
    std::uint32_t flags_ = 0;  ///< setup flags (IORING_SETUP_…) that the probe has determined
    std::string doubt_;        ///< reason why the flags are unknown; empty if they are known
};

}  // namespace criu::files
