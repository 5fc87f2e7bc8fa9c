// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>

namespace criu::kernel {

/// Kernel objects that two tasks may share; values of <linux/kcmp.h>.
enum class KcmpType : int { File = 0, Vm = 1, Files = 2, Fs = 3, Sighand = 4, Io = 5, SysvSem = 6, EpollTarget = 7 };

/// Compares kernel objects by kcmp(2). Returns `equivalent` for the same object. `less` and `greater` form a total
/// order that is constant until reboot; `unordered` means different objects.
/// Both tasks should be stopped. Two tasks without an I/O context compare equivalent for Io.
/// Throws Error: EPERM without ptrace access to both, ESRCH, EBADF (File: no such descriptor), ENOSYS (no
/// CONFIG_KCMP).
[[nodiscard]] std::partial_ordering kcmp(pid_t first, pid_t second, KcmpType type, std::uint64_t firstIndex = 0,
                                         std::uint64_t secondIndex = 0);

/// Compares the open file descriptions of two descriptors.
[[nodiscard]] std::partial_ordering kcmpFile(pid_t first, int firstFd, pid_t second, int secondFd);

/// Target in an epoll file: its descriptor number at EPOLL_CTL_ADD, and its index (from 0) among targets added with
/// that number.
struct EpollSlot {
    std::uint32_t epollFd = 0;
    std::uint32_t targetFd = 0;
    std::uint32_t offset = 0;
};

/// Compares an open file of `first` with the target `slot` in an epoll file of `second` (Linux 4.13). Throws Error:
/// ENOENT if the target doesn't exist.
[[nodiscard]] std::partial_ordering kcmpEpollTarget(pid_t first, int fd, pid_t second, const EpollSlot& slot);

}  // namespace criu::kernel
