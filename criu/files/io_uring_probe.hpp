// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/image/arena.hpp"
#include "criu/kernel/io_uring.hpp"
#include "images/io-uring.hpp"

namespace criu::files {

/// Finds out what no file of /proc says of a ring whose program stands still: how it was set up, and what is registered
/// with it. Most answers come from requests that are refused in one way or another.
class IoUringProbe {
public:
    /// `ring`: a descriptor of it here; stays the caller's and must outlive this. Throws Error if the program's part of
    /// the ring is nowhere to be found.
    IoUringProbe(int ring, const kernel::IoUringInfo& info);

    /// Why the ring can't be dumped ("that …"); empty if nothing stands against it.
    [[nodiscard]] std::string whatCantBeCarried() const;
    [[nodiscard]] bool hasEventFd() const;
    /// Sizes, counters and contents.
    void store(IoUringEntry& out, Arena& arena) const;

private:
    void findSizes();
    [[nodiscard]] io_uring_params alike(std::uint32_t flags) const;
    [[nodiscard]] std::optional<std::uint32_t> firstIndex(const io_uring_params& parameters) const;

    int ring_;
    const kernel::IoUringInfo& info_;
    std::uint32_t flags_ = 0;  ///< IORING_SETUP_
    std::string doubt_;        ///< why the flags couldn't be found out
};

}  // namespace criu::files
