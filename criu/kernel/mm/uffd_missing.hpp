// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// Missing mode of userfaultfd(2). A thread that touches an absent page waits until criu supplies the page. A thread
/// that changes mappings waits until criu has read the event.
namespace criu::kernel {

/// Returns flags for the userfaultfd system call. They include faults in kernel mode, on behalf of system calls.
/// These need CAP_SYS_PTRACE in the initial user namespace, or vm.unprivileged_userfaultfd.
[[nodiscard]] int uffdMissingFlags() noexcept;

/// Enables all events for a new descriptor. Returns 0 or the errno: EINVAL if the kernel lacks some (Linux 4.11),
/// EPERM without CAP_SYS_PTRACE.
[[nodiscard]] int enableUffdMissing(int userfaultfd) noexcept;

/// Tries to create such a descriptor. Returns 0 or the errno.
[[nodiscard]] int probeUffdMissing() noexcept;

/// Enable and probe the events for registerUffdMinor(). Return EINVAL before Linux 5.14.
[[nodiscard]] int enableUffdMinor(int userfaultfd) noexcept;
[[nodiscard]] int probeUffdMinor() noexcept;

/// Registers a range of mappings for missing mode. Returns 0 or the errno.
[[nodiscard]] int registerUffdMissing(int userfaultfd, std::uint64_t start, std::uint64_t bytes) noexcept;

/// Registers private mappings of tmpfs or memfd files for missing and minor mode. Threads wait at the first touch of
/// a page even if the file has it (minor fault).
/// The kernel then never shows file content by itself, so criu can zero discarded memory as for anonymous memory.
[[nodiscard]] int registerUffdMinor(int userfaultfd, std::uint64_t start, std::uint64_t bytes) noexcept;

/// Event in the memory of a userfaultfd.
struct UffdEvent {
    enum class Kind {
        Fault,   ///< a thread waits for the page at `start`
        Fork,    ///< `child` is the userfaultfd of a new process, whose memory equals this one's at the event
        Move,    ///< pages from `start` on moved to `target` (mremap(2))
        Remove,  ///< pages were discarded, the mapping stays (madvise(2))
        Unmap,   ///< the mapping was removed
    };
    Kind kind{};
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    std::uint64_t target = 0;
    UniqueFd child;
};

/// Reads pending events in order; none if the queue is empty. The descriptor must be O_NONBLOCK. Throws Error.
[[nodiscard]] std::vector<UffdEvent> readUffdEvents(int userfaultfd);

/// Progress of a request. `code`: 0 if it is complete, EAGAIN (an event is pending), EEXIST (a page exists), ENOENT
/// (the range isn't within one registered mapping), ESRCH (the memory no longer exists), or another errno.
struct Supplied {
    std::uint64_t bytes = 0;
    int code = 0;
};
/// Copies content into missing pages and wakes the threads that wait for them.
[[nodiscard]] Supplied uffdCopy(int userfaultfd, std::uint64_t at, std::span<const std::byte> content) noexcept;
/// Fills missing pages with zeroes and wakes the threads that wait for them.
[[nodiscard]] Supplied uffdZeropage(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept;
/// Maps existing pages of the mapped file and wakes the threads that wait for them; the kernel copies them on write.
/// EFAULT if the file lacks a page. Requires registerUffdMinor().
[[nodiscard]] Supplied uffdContinue(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept;
/// Wakes threads that wait for pages of a range, so that they touch them again.
void uffdWake(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept;

}  // namespace criu::kernel
