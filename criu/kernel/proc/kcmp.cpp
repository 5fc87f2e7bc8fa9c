// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/kcmp.hpp"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <type_traits>

#include "criu/base/error.hpp"

namespace criu::kernel {

static_assert(static_cast<int>(KcmpType::File) == KCMP_FILE);
static_assert(static_cast<int>(KcmpType::Vm) == KCMP_VM);
static_assert(static_cast<int>(KcmpType::Files) == KCMP_FILES);
static_assert(static_cast<int>(KcmpType::Fs) == KCMP_FS);
static_assert(static_cast<int>(KcmpType::Sighand) == KCMP_SIGHAND);
static_assert(static_cast<int>(KcmpType::Io) == KCMP_IO);
static_assert(static_cast<int>(KcmpType::SysvSem) == KCMP_SYSVSEM);
static_assert(static_cast<int>(KcmpType::EpollTarget) == KCMP_EPOLL_TFD);
static_assert(sizeof(EpollSlot) == sizeof(kcmp_epoll_slot) && std::is_standard_layout_v<EpollSlot>);

std::partial_ordering kcmp(pid_t first, pid_t second, KcmpType type, std::uint64_t firstIndex,
                           std::uint64_t secondIndex) {
    const long result =
        sys(::syscall(SYS_kcmp, first, second, static_cast<int>(type), firstIndex, secondIndex),
            "kcmp of {} and {}, type {}, {} and {}", first, second, static_cast<int>(type), firstIndex, secondIndex);
    switch (result) {
        case 0:
            return std::partial_ordering::equivalent;
        case 1:
            return std::partial_ordering::less;
        case 2:
            return std::partial_ordering::greater;
        default:
            return std::partial_ordering::unordered;
    }
}

std::partial_ordering kcmpFile(pid_t first, int firstFd, pid_t second, int secondFd) {
    return kcmp(first, second, KcmpType::File, static_cast<std::uint64_t>(firstFd),
                static_cast<std::uint64_t>(secondFd));
}

std::partial_ordering kcmpEpollTarget(pid_t first, int fd, pid_t second, const EpollSlot& slot) {
    return kcmp(first, second, KcmpType::EpollTarget, static_cast<std::uint64_t>(fd),
                reinterpret_cast<std::uintptr_t>(&slot));
}

}  // namespace criu::kernel
