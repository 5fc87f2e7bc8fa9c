// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// Functions for the WP mode of userfaultfd(2) with asynchronous faults (Linux 6.7). criu tracks writes to pages by it:
/// the kernel removes the protection of a page at the first write to the page. PAGEMAP_SCAN sets and reads the
/// protection.
namespace criu::kernel {

/// Returns flags for the userfaultfd system call. They exclude page faults in kernel mode, because these need
/// privileges. Tracking is complete even so: in asynchronous mode, a write by the kernel also removes the protection.
[[nodiscard]] int uffdWpFlags() noexcept;

/// Enables asynchronous write protection for a new descriptor. Returns false if the kernel lacks it. Throws Error.
[[nodiscard]] bool enableUffdWpAsync(int userfaultfd);

/// Registers an address range for WP mode. A mapping that this descriptor has already registered stays unchanged.
/// Returns 0 or the errno: EBUSY if another descriptor has registered the range, EINVAL or EPERM if the mapping can't
/// be tracked, ESRCH if the process has ended or has called execve(2).
[[nodiscard]] int registerUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept;

/// Removes the protection of a range, so that its pages count as written. Returns 0 or the errno: ENOENT if the range
/// isn't registered or isn't mapped.
[[nodiscard]] int clearUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept;

/// Answer of findOtherUffd().
enum class OtherUffd {
    None,     ///< no userfaultfd has registered the mapping
    Found,    ///< another userfaultfd has registered the mapping, or one of the mappings after it
    Unknown,  ///< the kernel answers in another way
};

/// Switches a new descriptor on. Throws Error.
void enableUffd(int userfaultfd);

/// Finds out if another userfaultfd has registered the mapping at `start`. Asks the kernel to register the range up to
/// `end`. The kernel checks all mappings in order before it registers one, and refuses files and areas of the kernel
/// such as the vDSO (userfaultfd_register(), fs/userfaultfd.c). So nothing changes if the range contains such an area.
/// Otherwise this function reverts the registration. `userfaultfd`: descriptor that enableUffd() has switched on.
[[nodiscard]] OtherUffd findOtherUffd(int userfaultfd, std::uint64_t start, std::uint64_t end) noexcept;

/// Returns true if the file of a descriptor is a userfaultfd.
[[nodiscard]] bool isUserfaultfd(int fd);

}  // namespace criu::kernel
