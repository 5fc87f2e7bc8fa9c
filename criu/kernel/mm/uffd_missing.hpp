// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// Functions for the missing mode of userfaultfd(2). A thread that accesses an absent page waits until criu fills the
/// page. A thread that changes mappings waits until criu has read the event about the change.
namespace criu::kernel {

/// Returns flags for the userfaultfd system call. They include page faults in kernel mode, which happen during system
/// calls. Such faults need CAP_SYS_PTRACE in the initial user namespace, or the sysctl vm.unprivileged_userfaultfd.
[[nodiscard]] int uffdMissingFlags() noexcept;

/// Enables all events for a new descriptor. Returns 0 or the errno: EINVAL if the kernel lacks an event (before Linux
/// 4.11), EPERM without CAP_SYS_PTRACE.
[[nodiscard]] int enableUffdMissing(int userfaultfd) noexcept;

/// Tries to create a descriptor by uffdMissingFlags() and enableUffdMissing(). Returns 0 or the errno.
[[nodiscard]] int probeUffdMissing() noexcept;

/// Enables all events and minor mode for a new descriptor. Returns 0 or the errno: EINVAL before Linux 5.14.
[[nodiscard]] int enableUffdMinor(int userfaultfd) noexcept;
[[nodiscard]] int probeUffdMinor() noexcept;

/// Creates a descriptor by which this process fills its own memory, without events. It excludes page faults in kernel
/// mode, because these need privileges. Returns an empty descriptor if the kernel refuses.
[[nodiscard]] UniqueFd openUffdFill() noexcept;

/// Registers an address range for missing mode. Returns 0 or the errno.
[[nodiscard]] int registerUffdMissing(int userfaultfd, std::uint64_t start, std::uint64_t bytes) noexcept;

/// Registers private mappings of tmpfs or memfd files for missing and minor mode. A thread then waits at its first
/// access to a page, even if the file has this page (minor fault). So the kernel never maps file content by itself. If
/// a process has discarded memory, criu can fill the memory with zeroes, as if it were anonymous.
[[nodiscard]] int registerUffdMinor(int userfaultfd, std::uint64_t start, std::uint64_t bytes) noexcept;

/// Event that the kernel reports by a userfaultfd.
struct UffdEvent {
    enum class Kind {
        Fault,  ///< a thread waits for the page at `start`
        /// A new process was created. `child` is the userfaultfd of its memory, which is a copy from the time of the
        /// event.
        Fork,
        Move,    ///< mremap(2) moved the pages from `start` on to `target`
        Remove,  ///< madvise(2) discarded pages; the mapping remains
        Unmap,   ///< a mapping was removed
    };
    Kind kind{};
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    std::uint64_t target = 0;
    UniqueFd child;
};

/// Reads all pending events in the kernel's order. Returns an empty list if no event is pending. The descriptor must be
/// O_NONBLOCK. Throws Error.
[[nodiscard]] std::vector<UffdEvent> readUffdEvents(int userfaultfd);

/// Result of a request. `code` is 0 if the request is complete, or the errno: EAGAIN if an event is pending, EEXIST if
/// a page exists already, ENOENT if the range isn't within one registered mapping, ESRCH if the process has ended or
/// has called execve(2).
struct Supplied {
    std::uint64_t bytes = 0;
    int code = 0;
};
/// Copies content into missing pages and wakes the threads that wait for them.
[[nodiscard]] Supplied uffdCopy(int userfaultfd, std::uint64_t at, std::span<const std::byte> content) noexcept;
/// Fills missing pages with zeroes and wakes the threads that wait for them.
[[nodiscard]] Supplied uffdZeropage(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept;
/// Maps existing pages of the mapped file, and wakes the threads that wait for these pages. When a thread later writes
/// to such a page, the kernel copies the page. Fails with EFAULT if the file lacks a page. The memory must be
/// registered by registerUffdMinor().
[[nodiscard]] Supplied uffdContinue(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept;
/// Wakes the threads that wait for pages of a range. The threads then access the pages again.
void uffdWake(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept;

}  // namespace criu::kernel
