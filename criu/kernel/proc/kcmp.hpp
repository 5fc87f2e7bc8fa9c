// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>

namespace criu::kernel {

/// What two tasks may share; the numbers of <linux/kcmp.h>.
enum class KcmpType : int { File = 0, Vm = 1, Files = 2, Fs = 3, Sighand = 4, Io = 5, SysvSem = 6, EpollTarget = 7 };

/// kcmp(2): are these the same kernel object? `equivalent` if so; `less` and `greater` are a total order that is
/// constant until reboot, good for sorting; `unordered` means different without an order. Both tasks should be stopped.
/// Throws Error: EPERM without ptrace access to both, ESRCH, EBADF (File: no such descriptor), ENOSYS (no CONFIG_KCMP).
/// Io of two tasks that both have no I/O context compares equivalent.
[[nodiscard]] std::partial_ordering kcmp(pid_t first, pid_t second, KcmpType type, std::uint64_t firstIndex = 0,
                                         std::uint64_t secondIndex = 0);

/// Whether two descriptors refer to one open file description.
[[nodiscard]] std::partial_ordering kcmpFile(pid_t first, int firstFd, pid_t second, int secondFd);

/// A target in an epoll file: descriptor number it was added by, and which of several added by that number (from 0).
struct EpollSlot {
    std::uint32_t epollFd = 0;
    std::uint32_t targetFd = 0;
    std::uint32_t offset = 0;
};

/// Compares an open file of `first` with the target `slot` describes in an epoll file of `second`. ENOENT: no such
/// target. (4.13)
[[nodiscard]] std::partial_ordering kcmpEpollTarget(pid_t first, int fd, pid_t second, const EpollSlot& slot);

}  // namespace criu::kernel
