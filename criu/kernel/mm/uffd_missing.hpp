// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// userfaultfd(2) as far as it supplies pages that a process hasn't got yet: a thread that touches one waits until
/// somebody has put it there, and whoever changes the mappings waits until the reader of the descriptor knows.
namespace criu::kernel {

/// Flags to make such a descriptor with, as the second word of the system call: faults of the kernel, on behalf of
/// system calls, are to wait too. Needs CAP_SYS_PTRACE in the first user namespace, or vm.unprivileged_userfaultfd.
[[nodiscard]] int uffdMissingFlags() noexcept;

/// Asks for all events, for a descriptor fresh from the system call. Returns 0 or the errno: EINVAL if the kernel lacks
/// any of them (4.11), EPERM without CAP_SYS_PTRACE.
[[nodiscard]] int enableUffdMissing(int userfaultfd) noexcept;

/// Whether this process may have such descriptors, by trying: 0 or the errno.
[[nodiscard]] int probeUffdMissing() noexcept;

/// The same two for registerUffdMinor(): also EINVAL before Linux 5.14.
[[nodiscard]] int enableUffdMinor(int userfaultfd) noexcept;
[[nodiscard]] int probeUffdMinor() noexcept;

/// From now on pages that a range of mappings lacks are waited for. Returns 0 or the errno.
[[nodiscard]] int registerUffdMissing(int userfaultfd, std::uint64_t start, std::uint64_t bytes) noexcept;

/// The same for private mappings of files in memory (tmpfs, memfd): threads wait at the first touch of a page whether
/// the file has it (a minor fault) or not. So the kernel shows no byte of the file by itself, and memory that its
/// process has given up can be made zero as anonymous memory would be.
[[nodiscard]] int registerUffdMinor(int userfaultfd, std::uint64_t start, std::uint64_t bytes) noexcept;

/// What has happened in the memory that a descriptor belongs to.
struct UffdEvent {
    enum class Kind {
        Fault,   ///< a thread waits for the page of `start`
        Fork,    ///< `child` is the descriptor of a new process' memory, which is as this one is now
        Move,    ///< pages of `start` on are at `target` now (mremap(2))
        Remove,  ///< pages are given up, the mapping stays (madvise(2))
        Unmap,   ///< the mapping is gone
    };
    Kind kind{};
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    std::uint64_t target = 0;
    UniqueFd child;
};

/// Takes events that wait, in their order; none if there is none (the descriptor is O_NONBLOCK). Throws Error.
[[nodiscard]] std::vector<UffdEvent> readUffdEvents(int userfaultfd);

/// How much of a range was done, and why not more: 0, EAGAIN (an event waits to be read), EEXIST (a page is there),
/// ENOENT (the range isn't within one registered mapping), ESRCH (the memory is gone), or another errno.
struct Supplied {
    std::uint64_t bytes = 0;
    int code = 0;
};
/// Puts content into missing pages, and wakes whoever waits for them.
[[nodiscard]] Supplied uffdCopy(int userfaultfd, std::uint64_t at, std::span<const std::byte> content) noexcept;
/// The same with pages of zeroes.
[[nodiscard]] Supplied uffdZeropage(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept;
/// Maps pages that the mapped file has there, and wakes whoever waits for them: the kernel copies a page when it is
/// written to. EFAULT if the file hasn't got one. After registerUffdMinor().
[[nodiscard]] Supplied uffdContinue(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept;
/// Has threads that wait for pages of a range touch them again.
void uffdWake(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept;

}  // namespace criu::kernel
