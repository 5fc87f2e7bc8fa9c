// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// WP mode of userfaultfd(2) with asynchronous faults (Linux 6.7), which shows writes to pages. The kernel removes
/// the protection at the first write to a page. PAGEMAP_SCAN sets and reads the protection.
namespace criu::kernel {

/// Returns flags for the userfaultfd system call. They exclude kernel-mode faults, which need privileges. The
/// kernel's own writes still remove asynchronous protection.
[[nodiscard]] int uffdWpFlags() noexcept;

/// Enables asynchronous write protection for a new descriptor. Returns false if the kernel lacks it. Throws Error.
[[nodiscard]] bool enableUffdWpAsync(int userfaultfd);

/// Registers a range of memory; mappings that are registered with this descriptor stay unchanged. Returns 0 or the
/// errno: EBUSY if another descriptor has the range, EINVAL or EPERM for mappings that can't be tracked, ESRCH if the
/// memory no longer exists.
[[nodiscard]] int registerUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept;

/// Removes the protection of a range, so its pages count as written. Returns 0 or the errno: ENOENT if the range
/// isn't registered or mapped.
[[nodiscard]] int clearUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept;

/// Returns true if a descriptor is a userfaultfd.
[[nodiscard]] bool isUserfaultfd(int fd);

}  // namespace criu::kernel
