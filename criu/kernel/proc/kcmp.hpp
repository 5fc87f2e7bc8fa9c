// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>

namespace criu::kernel {

/// Kinds of kernel objects that two tasks may share; the values are those of <linux/kcmp.h>.
enum class KcmpType : int { File = 0, Vm = 1, Files = 2, Fs = 3, Sighand = 4, Io = 5, SysvSem = 6, EpollTarget = 7 };

/// Compares a kernel object of two tasks by kcmp(2). Returns `equivalent` if both tasks have the same object. Otherwise
/// returns `less` or `greater`; these define a total order of objects that stays the same until reboot. `unordered`
/// means different objects without an order. Both tasks should be stopped. For KcmpType::Io, two tasks without an I/O
/// context are equivalent. Throws Error: EPERM without ptrace access to both tasks, ESRCH, EBADF if a task lacks the
/// descriptor, ENOSYS if the kernel lacks CONFIG_KCMP.
[[nodiscard]] std::partial_ordering kcmp(pid_t first, pid_t second, KcmpType type, std::uint64_t firstIndex = 0,
                                         std::uint64_t secondIndex = 0);

/// Compares the open file descriptions of two descriptors. Each descriptor is given with its task.
[[nodiscard]] std::partial_ordering kcmpFile(pid_t first, int firstFd, pid_t second, int secondFd);

/// Target of an epoll file. `targetFd`: descriptor number that EPOLL_CTL_ADD used. `offset`: place of the target among
/// the targets that were added with this number, counted from 0.
struct EpollSlot {
    std::uint32_t epollFd = 0;
    std::uint32_t targetFd = 0;
    std::uint32_t offset = 0;
};

/// Compares the open file description of descriptor `fd` in `first` with the target `slot` of an epoll file in `second`
/// (Linux 4.13). Throws Error: ENOENT if the target doesn't exist.
[[nodiscard]] std::partial_ordering kcmpEpollTarget(pid_t first, int fd, pid_t second, const EpollSlot& slot);

}  // namespace criu::kernel
