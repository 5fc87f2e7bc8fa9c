// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/sock_diag.hpp"

#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/net/netlink.hpp"

namespace criu::kernel {
namespace {

constexpr std::uint32_t kAnyCookie = ~0U;

template <typename T>
T unixValueOf(std::span<const std::byte> bytes, const char* what) {
    T value{};
    if (bytes.size() < sizeof(value))
        fail("the kernel's answer about a unix socket has only {} bytes for {}", bytes.size(), what);
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
}

void take(UnixSocketInfo& info, std::uint16_t type, std::span<const std::byte> value) {
    switch (type) {
        case UNIX_DIAG_NAME:
            info.name.assign(reinterpret_cast<const char*>(value.data()), value.size());
            break;
        case UNIX_DIAG_VFS: {
            const auto file = unixValueOf<unix_diag_vfs>(value, "its file");
            info.file = UnixSocketInfo::File{file.udiag_vfs_dev, file.udiag_vfs_ino};
            break;
        }
        case UNIX_DIAG_PEER:
            info.peer = unixValueOf<std::uint32_t>(value, "its peer");
            break;
        case UNIX_DIAG_ICONS:
            info.pending.resize(value.size() / sizeof(std::uint32_t));
            if (!info.pending.empty())
                std::memcpy(info.pending.data(), value.data(), info.pending.size() * sizeof(std::uint32_t));
            break;
        case UNIX_DIAG_RQLEN: {
            const auto queues = unixValueOf<unix_diag_rqlen>(value, "its queues");
            info.receiveQueue = queues.udiag_rqueue;
            info.sendQueue = queues.udiag_wqueue;
            break;
        }
        case UNIX_DIAG_SHUTDOWN:
            info.shutdown = unixValueOf<std::uint8_t>(value, "its shutdown state");
            break;
        case UNIX_DIAG_UID:
            info.uid = unixValueOf<std::uint32_t>(value, "its uid");
            break;
        default:
            break;
    }
}

unix_diag_req requestFor(std::uint32_t inode) {
    unix_diag_req request{};
    request.sdiag_family = AF_UNIX;
    request.udiag_states = ~0U;
    request.udiag_ino = inode;
    request.udiag_show =
        UDIAG_SHOW_NAME | UDIAG_SHOW_VFS | UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS | UDIAG_SHOW_RQLEN | UDIAG_SHOW_UID;
    std::fill(std::begin(request.udiag_cookie), std::end(request.udiag_cookie), kAnyCookie);
    return request;
}

/// Sends a request and appends the reported sockets to `answers`. Returns false if the socket doesn't exist.
bool ask(const unix_diag_req& request, std::uint16_t flags, std::vector<UnixSocketInfo>& answers) {
    NetlinkMessage message(SOCK_DIAG_BY_FAMILY, static_cast<std::uint16_t>(NLM_F_REQUEST | flags), request);
    const int error = NetlinkSocket(NETLINK_SOCK_DIAG)
                          .request(message, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
                              if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY)
                                  answers.push_back(parseUnixSocket(payload));
                          });
    if (error == ENOENT)
        return false;
    if (error != 0)
        failWith(error, "ask the kernel about unix sockets");
    return true;
}

}  // namespace

UnixSocketInfo parseUnixSocket(std::span<const std::byte> answer) {
    const auto fixed = unixValueOf<unix_diag_msg>(answer, "its description");
    UnixSocketInfo info;
    info.inode = fixed.udiag_ino;
    info.type = fixed.udiag_type;
    info.state = static_cast<UnixState>(fixed.udiag_state);
    forEachAttribute(answer.subspan(NLMSG_ALIGN(sizeof(fixed))),
                     [&info](std::uint16_t type, std::span<const std::byte> value) { take(info, type, value); });
    return info;
}

std::vector<UnixSocketInfo> readUnixSockets() {
    std::vector<UnixSocketInfo> sockets;
    ask(requestFor(0), NLM_F_DUMP, sockets);
    return sockets;
}

std::optional<UnixSocketInfo> readUnixSocket(std::uint32_t inode) {
    std::vector<UnixSocketInfo> sockets;
    if (!ask(requestFor(inode), NLM_F_ACK, sockets) || sockets.empty())
        return std::nullopt;
    return std::move(sockets.front());
}

}  // namespace criu::kernel
