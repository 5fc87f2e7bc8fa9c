// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/channel.hpp>
#include <compel/remote_syscalls.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "fail.hpp"
#include "proc.hpp"

namespace compel {

namespace {

using protocol::maximumFds;
using FdArray = std::array<int, maximumFds>;

/// Scope in which the process' soft limit of open files equals its hard limit. A process at its soft limit can then
/// open two more descriptors.
class RoomForFds {
public:
    RoomForFds(RemoteSyscalls& remote, const RemoteMemory& memory, RemoteAddress scratch)
        : remote_(remote), memory_(memory), scratch_(scratch) {
        if (isSyscallError(limit(0, scratch_)))
            return;
        old_ = memory_.readValue<rlimit64>(scratch_);
        memory_.writeValue(scratch_, rlimit64{old_.rlim_max, old_.rlim_max});
        raised_ = limit(scratch_, 0) == 0;
    }
    RoomForFds(const RoomForFds&) = delete;
    RoomForFds& operator=(const RoomForFds&) = delete;
    ~RoomForFds() {
        try {
            if (raised_) {
                memory_.writeValue(scratch_, old_);
                limit(scratch_, 0);
            }
        } catch (const std::exception&) {
            return;  // the thread has ended
        }
    }

private:
    std::int64_t limit(RemoteAddress fresh, RemoteAddress former) {
        return remote_.call(SYS_prlimit64, 0, RLIMIT_NOFILE, fresh, former);
    }

    RemoteSyscalls& remote_;
    const RemoteMemory& memory_;
    RemoteAddress scratch_;
    rlimit64 old_{};
    bool raised_ = false;
};

UniqueFd takeFd(pid_t tid, int remoteFd) {
    const auto status = readThreadStatus(tid);
    if (!status)
        throw TraceeGone(ESRCH, join("thread ", tid));
    UniqueFd process;
    if (status->process != tid) {
        constexpr unsigned pidfdThread = O_EXCL;  // PIDFD_THREAD, Linux 6.9
        process.reset(static_cast<int>(::syscall(SYS_pidfd_open, tid, pidfdThread)));
    }
    if (!process)
        process.reset(static_cast<int>(::syscall(SYS_pidfd_open, status->process, 0)));
    if (!process)
        failErrno("pidfd_open ", status->process);
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), remoteFd, 0)));
    if (!fd)
        failErrno("pidfd_getfd of descriptor ", remoteFd, " of process ", status->process);
    return fd;
}

}  // namespace

Channel::Channel(Injection& injection, Tracee& thread, Workspace workspace, std::uint64_t argument)
    : injection_(injection), thread_(thread) {
    if (workspace.size < minimumWorkspace)
        fail("a channel needs a workspace of ", minimumWorkspace, " bytes");
    constexpr std::uint64_t bufferOffset = 64;
    static_assert(sizeof(protocol::DaemonArgument) <= bufferOffset);
    try {
        connect(workspace);
        injection_.memory().writeValue(workspace.address,
                                       protocol::DaemonArgument{.socket = remoteSocket_,
                                                                .reserved = 0,
                                                                .argument = argument,
                                                                .buffer = workspace.address + bufferOffset});
        run_.emplace(injection_.start(thread_, workspace.address, workspace.address + workspace.size));
    } catch (const Error&) {
        try {
            closeRemote();
        } catch (const std::exception&) {
            // Ignores this failure, because the caller throws the first failure.
        }
        throw;
    }
}

Channel::~Channel() {
    try {
        hangUp();
    } catch (const std::exception&) {
        // Ignored: the blob has crashed, and handleStop() has restored the thread.
    }
    run_.reset();
    try {
        closeRemote();
    } catch (const std::exception&) {
        return;  // the thread has ended
    }
}

void Channel::connect(Workspace workspace) {
    RemoteSyscalls remote(thread_, injection_.syscallInstruction());
    const auto makePair = [&] {
        return remote.call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, workspace.address);
    };
    auto result = makePair();
    if (result == -EMFILE) {
        const RoomForFds room(remote, injection_.memory(), workspace.address + sizeof(rlimit64));
        result = makePair();
    }
    if (result == -EMFILE)
        failWith(EMFILE, "make a socket in thread ", thread_.tid(),
                 ", all of whose descriptors are in use (raise its hard limit of open files)");
    if (result != 0)
        failWith(static_cast<int>(-result), "socketpair in thread ", thread_.tid());
    const auto ends = injection_.memory().readValue<std::array<int, 2>>(workspace.address);
    remoteSocket_ = ends[1];
    try {
        socket_ = takeFd(thread_.tid(), ends[0]);
    } catch (const Error&) {
        remote.call(SYS_close, ends[0]);
        throw;
    }
    remote.call(SYS_close, ends[0]);
    remote.restore();
}

void Channel::hangUp() {
    // The blob notices that the connection is closed, ends its loop and closes its descriptors. If it doesn't end in
    // time, the destructor of BlobRun stops it.
    constexpr auto patience = std::chrono::seconds(1);
    socket_.reset();
    const auto end = std::chrono::steady_clock::now() + patience;
    auto pause = std::chrono::microseconds(10);
    while (run_ && !run_->ended() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(1000));
    }
}

void Channel::closeRemote() {
    socket_.reset();
    const int fd = std::exchange(remoteSocket_, -1);
    if (fd < 0 || thread_.released())
        return;
    RemoteSyscalls remote(thread_, injection_.syscallInstruction());
    remote.call(SYS_close, fd);
    remote.restore();
}

Channel::Reply Channel::call(std::uint32_t command, std::span<const std::byte> payload, std::span<const int> fds) {
    send(command, payload, fds);
    return receive();
}

void Channel::send(std::uint32_t command, std::span<const std::byte> payload, std::span<const int> fds) {
    if (payload.size() > protocol::maximumPayload || fds.size() > maximumFds)
        fail("command ", command, " for thread ", thread_.tid(), " is too big: ", payload.size(), " bytes, ",
             fds.size(), " descriptors");
    protocol::Request request{command, static_cast<std::uint32_t>(payload.size())};
    std::array<iovec, 2> parts{iovec{&request, sizeof(request)},
                               iovec{const_cast<std::byte*>(payload.data()), payload.size()}};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(FdArray))> control{};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
    }
    ssize_t sent = 0;
    do {
        sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        const int code = errno;
        if (run_)
            run_->ended();  // throws an Error with the address if the blob has crashed
        failWith(code, "send command ", command, " to the blob in thread ", thread_.tid());
    }
}

Channel::Reply Channel::receive() {
    // Polls with a timeout, because the socket reports neither a crash of the blob nor the end of its thread.
    constexpr int lookAfterMilliseconds = 20;
    pollfd ready{socket_.get(), POLLIN, 0};
    for (int count = 0; count <= 0;) {
        count = ::poll(&ready, 1, lookAfterMilliseconds);
        if (count < 0 && errno != EINTR)
            failErrno("wait for the blob in thread ", thread_.tid());
        if (count == 0 && run_ && run_->ended() && ::poll(&ready, 1, 0) == 0) {
            const auto result = run_->finish();
            run_.reset();
            fail("the blob in thread ", thread_.tid(), " ended before it answered, with result ", result);
        }
    }
    protocol::Reply head{};
    Reply reply;
    reply.payload.resize(protocol::maximumPayload);
    std::array<iovec, 2> parts{iovec{&head, sizeof(head)}, iovec{reply.payload.data(), reply.payload.size()}};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(FdArray))> control{};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t got = 0;
    do {
        got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        failErrno("receive from the blob in thread ", thread_.tid());
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        FdArray fds{};
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::memcpy(fds.data(), CMSG_DATA(header), count * sizeof(int));
        for (std::size_t index = 0; index < count; ++index)
            reply.fds.emplace_back(fds[index]);
    }
    if ((message.msg_flags & MSG_CTRUNC) != 0)
        fail("descriptors from the blob in thread ", thread_.tid(),
             " were lost; this process may have reached its limit of open files");
    const auto size = static_cast<std::size_t>(got);
    if (size < sizeof(head) || (message.msg_flags & MSG_TRUNC) != 0 || head.size != size - sizeof(head))
        fail("the blob in thread ", thread_.tid(), " broke the protocol: packet of ", size, " bytes");
    reply.result = head.result;
    reply.payload.resize(head.size);
    return reply;
}

void Channel::stop() {
    if (!run_)
        fail("the channel to thread ", thread_.tid(), " has been stopped already");
    call(protocol::stopCommand);
    const auto result = run_->finish();
    run_.reset();
    closeRemote();
    if (result < 0)
        failWith(static_cast<int>(-result), "the blob in thread ", thread_.tid(), " ended its loop");
}

}  // namespace compel
