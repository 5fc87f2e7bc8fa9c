// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/tcp_repair.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::sockets {
namespace {

void setRepair(int socket, int mode, const char* what) {
    if (::setsockopt(socket, IPPROTO_TCP, TCP_REPAIR, &mode, sizeof(mode)) == 0)
        return;
    Error error(errno, what);
    if (error.code() == EPERM)
        error.addHint("it needs CAP_NET_ADMIN in the user namespace of the socket's network");
    throw error;
}

}  // namespace

bool hasSentFin(TcpState state) noexcept {
    return state == TcpState::FinWait1 || state == TcpState::FinWait2 || state == TcpState::Closing ||
           state == TcpState::LastAck;
}

bool hasReceivedFin(TcpState state) noexcept {
    return state == TcpState::CloseWait || state == TcpState::LastAck || state == TcpState::Closing;
}

TcpInfo readTcpInfo(int socket) {
    tcp_info raw{};
    socklen_t size = sizeof(raw);
    sys(::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &raw, &size), "read the state of a TCP socket");
    TcpInfo info;
    info.state = static_cast<TcpState>(raw.tcpi_state);
    info.options = raw.tcpi_options;
    info.sendScale = raw.tcpi_snd_wscale;
    info.receiveScale = raw.tcpi_rcv_wscale;
    if (info.state == TcpState::Listen) {
        info.pending = raw.tcpi_unacked;
        info.backlog = raw.tcpi_sacked;
    }
    return info;
}

void enterRepair(int socket) {
    setRepair(socket, TCP_REPAIR_ON, "put a TCP socket into repair mode");
}

void leaveRepair(int socket) {
    setRepair(socket, TCP_REPAIR_OFF, "end the repair mode of a TCP socket");
}

unsigned endRepairs(const kernel::PidFd& process, const kernel::ProcPid& files, const kernel::ChangedOptions& options) {
    unsigned ended = 0;
    for (const int fd : kernel::readDescriptors(files)) {
        try {
            if (!files.readLink(fmt::format("fd/{}", fd)).starts_with("socket:"))
                continue;
            const UniqueFd socket = process.getFd(fd);
            int mode = 0;
            socklen_t size = sizeof(mode);
            if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_REPAIR, &mode, &size) == 0 && mode == TCP_REPAIR_ON) {
                leaveRepair(socket.get());
                ++ended;
            }
            // Comes after repair mode, whose end changes SO_REUSEADDR.
            kernel::setRecordedOptions(socket.get(), options);
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != EBADF)
                throw;
        }
    }
    return ended;
}

void leaveRepairQuietly(int socket) {
    const int mode = TCP_REPAIR_OFF_NO_WP;
    if (::setsockopt(socket, IPPROTO_TCP, TCP_REPAIR, &mode, sizeof(mode)) != 0)
        leaveRepair(socket);  // before Linux 4.19, TCP_REPAIR_OFF_NO_WP doesn't exist
}

ResetIfClosed::ResetIfClosed(int socket) : socket_(socket) {
    constexpr linger kReset{1, 0};
    socklen_t size = sizeof(before_);
    sys(::getsockopt(socket, SOL_SOCKET, SO_LINGER, &before_, &size), "read SO_LINGER");
    sys(::setsockopt(socket, SOL_SOCKET, SO_LINGER, &kReset, sizeof(kReset)),
        "let the kernel reset a closed connection");
}

void ResetIfClosed::end() {
    sys(::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &before_, sizeof(before_)), "restore SO_LINGER");
}

void chooseQueue(int socket, RepairQueue queue) {
    const int number = static_cast<int>(queue);
    sys(::setsockopt(socket, IPPROTO_TCP, TCP_REPAIR_QUEUE, &number, sizeof(number)), "choose a queue of a TCP socket");
}

TcpRepair::TcpRepair(UniqueFd socket) : socket_(std::move(socket)) {
    socklen_t size = sizeof(reuseAddress_);
    sys(::getsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &reuseAddress_, &size), "read SO_REUSEADDR");
    enterRepair(socket_.get());
}

void TcpRepair::pause() {
    leaveRepairQuietly(socket_.get());
    paused_ = true;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &reuseAddress_, sizeof(reuseAddress_));
}

void TcpRepair::resume() {
    if (!paused_)
        return;
    enterRepair(socket_.get());
    paused_ = false;
}

TcpRepair::~TcpRepair() {
    if (!socket_ || paused_)
        return;
    const int off = TCP_REPAIR_OFF;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off));
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &reuseAddress_, sizeof(reuseAddress_));
}

}  // namespace criu::sockets
