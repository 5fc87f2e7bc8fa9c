// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// userfaultfd(2) as far as it tells which pages were written to: write protection with asynchronous faults (6.7),
/// which the kernel lifts by itself at the first write to a page. PAGEMAP_SCAN sets the protection and shows where it
/// is gone.
namespace criu::kernel {

/// Flags to make such a descriptor with, as the second word of the system call. Without privileges a process may only
/// make one that handles faults of user mode; asynchronous protection is lifted by the kernel's own writes all the
/// same.
[[nodiscard]] int uffdWpFlags() noexcept;

/// Switches asynchronous write protection on, for a descriptor fresh from the system call. False if the kernel hasn't
/// got it. Throws Error.
[[nodiscard]] bool enableUffdWpAsync(int userfaultfd);

/// Registers a range of the memory that the descriptor belongs to. Mappings that are registered with it already stay as
/// they are. Returns 0 or the errno: EBUSY where the range is another descriptor's, EINVAL or EPERM for mappings that
/// can't be tracked, ESRCH if the memory is gone.
[[nodiscard]] int registerUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept;

/// Lifts the protection of a range, whose pages count as written then. Returns 0 or the errno: ENOENT where the range
/// isn't registered or mapped any more.
[[nodiscard]] int clearUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept;

/// Whether a descriptor is a userfaultfd.
[[nodiscard]] bool isUserfaultfd(int fd);

}  // namespace criu::kernel
