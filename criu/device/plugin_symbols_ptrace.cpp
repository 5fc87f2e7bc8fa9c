// SPDX-License-Identifier: GPL-2.0-only
// Functions of lib/c/criu-plugin-host.h that concern traced threads and sockets.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/device/plugin_symbols.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "lib/c/criu-plugin-host.h"

namespace {

enum : int { kTaskAlive = 1, kTaskDead = 2, kTaskStopped = 3, kTaskZombie = 6 };
constexpr int kEventStop = 128;  // PTRACE_EVENT_STOP of linux/ptrace.h; can't be included together with sys/ptrace.h

int report(const char* what, int pid) {
    if (const auto* const context = criu::device::pluginContext())
        context->log.error("wait for thread {} to stop: {}", pid, what);
    return -1;
}

constexpr int kMostFds = 252;  // one less than SCM_MAX_FD, as in CRIU 4.2

/// Message with up to kMostFds descriptors.
struct FdMessage {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostFds)] = {};
    char nothing = 0;
    iovec content{};
    msghdr header{};

    FdMessage(int count, void* data, unsigned size) {
        content = data == nullptr ? iovec{&nothing, 1}
                                  : iovec{data, static_cast<std::size_t>(size) * static_cast<std::size_t>(count)};
        header.msg_iov = &content;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * static_cast<std::size_t>(count));
    }
    FdMessage(const FdMessage&) = delete;
    FdMessage& operator=(const FdMessage&) = delete;
};

}  // namespace

int compel_wait_task(int pid, int parent, int (*get_status)(int, seize_task_status*, void*),
                     void (*free_status)(int, seize_task_status*, void*), seize_task_status* status, void* data) {
    for (;;) {
        int code = 0;
        pid_t waited = -1;
        do
            waited = ::waitpid(pid, &code, __WALL);
        while (waited < 0 && errno == EINTR);
        if (get_status(pid, status, data) != 0)
            return report("its status can't be read", pid);
        if (waited < 0 || !WIFSTOPPED(code)) {
            if (status->state != 'Z')
                return report("it isn't traced", pid);
            return waited < 0 ? kTaskZombie : kTaskDead;
        }
        if (parent != -1 && status->ppid != parent)
            return report("it is a child of another process than it was", pid);
        const int signal = WSTOPSIG(code);
        if (code >> 16 == kEventStop)
            return signal == SIGTRAP ? kTaskAlive : kTaskStopped;
        if (::ptrace(PTRACE_CONT, pid, nullptr, signal) != 0)
            return report(std::strerror(errno), pid);
        if (free_status != nullptr)
            free_status(pid, status, data);
    }
}

int send_fds(int socket, sockaddr_un* address, int length, int* fds, int count, void* data, unsigned size) {
    for (int done = 0; done < count;) {
        const int part = std::min(count - done, kMostFds);
        void* const bytes =
            data == nullptr ? nullptr : static_cast<char*>(data) + static_cast<std::size_t>(done) * size;
        FdMessage message(part, bytes, size);
        message.header.msg_name = address;
        message.header.msg_namelen = address == nullptr ? 0 : static_cast<socklen_t>(length);
        cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * static_cast<std::size_t>(part));
        std::memcpy(CMSG_DATA(rights), fds + done, sizeof(int) * static_cast<std::size_t>(part));
        if (::sendmsg(socket, &message.header, MSG_NOSIGNAL) <= 0)
            return -errno;
        done += part;
    }
    return 0;
}

int __recv_fds(int socket, int* fds, int count, void* data, unsigned size, int flags) {
    for (int done = 0; done < count;) {
        const int part = std::min(count - done, kMostFds);
        void* const bytes =
            data == nullptr ? nullptr : static_cast<char*>(data) + static_cast<std::size_t>(done) * size;
        FdMessage message(part, bytes, size);
        const ssize_t got = ::recvmsg(socket, &message.header, flags);
        if (got <= 0)
            return got == 0 ? -ENOMSG : -errno;
        const cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
        if (rights == nullptr || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
            return -EINVAL;
        if ((message.header.msg_flags & MSG_CTRUNC) != 0)
            return -ENFILE;
        const std::size_t room = rights->cmsg_len - CMSG_LEN(0);
        if (room < sizeof(int) || room > sizeof(int) * static_cast<std::size_t>(part))
            return -EBADFD;
        std::memcpy(fds + done, CMSG_DATA(rights), room);
        done += static_cast<int>(room / sizeof(int));
    }
    return 0;
}
