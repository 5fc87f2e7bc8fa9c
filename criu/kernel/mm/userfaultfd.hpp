// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// Functions for the WP mode of userfaultfd(2) with asynchronous faults (Linux 6.7), which tracks writes to pages. The
/// kernel removes the protection of a page at the first write to it. PAGEMAP_SCAN sets and reads the protection.
namespace criu::kernel {

/// Returns flags for the userfaultfd system call. They exclude page faults in kernel mode, which need privileges.
/// Tracking stays complete, because the kernel's own writes also remove the asynchronous protection.
[[nodiscard]] int uffdWpFlags() noexcept;

/// Enables asynchronous write protection for a new descriptor. Returns false if the kernel lacks it. Throws Error.
[[nodiscard]] bool enableUffdWpAsync(int userfaultfd);

/// Registers an address range for WP mode. Mappings that this descriptor has registered earlier stay unchanged. Returns
/// 0 or the errno: EBUSY if another descriptor has registered the range, EINVAL or EPERM if criu can't track the
/// mapping, ESRCH if the memory no longer exists.
[[nodiscard]] int registerUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept;

/// Removes the protection of a range, so that its pages count as written. Returns 0 or the errno: ENOENT if the range
/// isn't registered or isn't mapped.
[[nodiscard]] int clearUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept;

/// Returns true if the file of a descriptor is a userfaultfd.
[[nodiscard]] bool isUserfaultfd(int fd);

}  // namespace criu::kernel
