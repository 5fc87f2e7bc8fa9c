// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/posix_queue.hpp"

#include <mqueue.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {
namespace {

constexpr auto kMagic = 0x19800202;  // MQUEUE_MAGIC in the kernel's ipc/mqueue.c

/// Reads "NAME:NUMBER" and the blanks that follow.
template <typename Number>
Number field(Scanner& scan, std::string_view name) {
    Number number{};
    if (scan.until(':') != name || !scan.skip(':') || !scan.number(number))
        fail("a POSIX message queue doesn't say its {} where it is expected", name);
    scan.blanks();
    return number;
}

}  // namespace

UniqueFd mountPosixQueues() {
    const UniqueFd system(::fsopen("mqueue", FSOPEN_CLOEXEC));
    if (!system && errno == ENODEV)
        return {};
    if (!system)
        failErrno("open the file system of POSIX message queues");
    sys(::fsconfig(system.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), "prepare to list POSIX message queues");
    return UniqueFd(sys(::fsmount(system.get(), FSMOUNT_CLOEXEC, 0), "mount the POSIX message queues"));
}

bool isPosixQueue(int fd) noexcept {
    struct statfs system {};
    return ::fstatfs(fd, &system) == 0 && system.f_type == kMagic;
}

PosixQueueState readPosixQueueState(int queue) {
    mq_attr attributes{};
    sys(::mq_getattr(queue, &attributes), "look at a POSIX message queue");
    PosixQueueState state;
    state.maxMessages = attributes.mq_maxmsg;
    state.messageSize = attributes.mq_msgsize;
    state.waiting = attributes.mq_curmsgs;

    // The file of a queue contains one line: "QSIZE:129 NOTIFY:2 SIGNO:0 NOTIFY_PID:8260". Blanks fill the columns.
    std::array<char, 128> text{};
    const auto length = sys(::pread(queue, text.data(), text.size(), 0), "read what a POSIX message queue holds");
    Scanner scan(std::string_view(text.data(), static_cast<std::size_t>(length)));
    state.bytes = field<std::uint64_t>(scan, "QSIZE");
    // If no process is registered, all three numbers are 0. NOTIFY_PID alone is 0 if criu's pid namespace doesn't
    // contain the process. NOTIFY alone is 0 for SIGEV_SIGNAL.
    const int how = field<int>(scan, "NOTIFY");
    const int signal = field<int>(scan, "SIGNO");
    const int process = field<int>(scan, "NOTIFY_PID");
    state.notifies = how != 0 || signal != 0 || process != 0;
    return state;
}

}  // namespace criu::kernel
