// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Functions that read Unix sockets by NETLINK_SOCK_DIAG (sock_diag(7), <linux/unix_diag.h>).
namespace criu::kernel {

/// States of a Unix socket. The kernel and the images use the numbers of TCP states.
enum class UnixState : std::uint8_t { Established = 1, Close = 7, Listen = 10 };

struct UnixSocketInfo {
    std::uint32_t inode = 0;  ///< inode number, as in "socket:[INODE]"
    int type = 0;             ///< SOCK_STREAM, SOCK_DGRAM or SOCK_SEQPACKET
    UnixState state{};
    /// Name in the form of sun_path: a path ends with a zero byte, and an abstract name begins with a zero byte. Empty
    /// for an unnamed socket.
    std::string name;
    /// File at the path to which the socket is bound. The device number has the kernel's internal encoding: major << 20
    /// | minor.
    struct File {
        std::uint32_t device = 0;
        std::uint32_t inode = 0;
    };
    std::optional<File> file;
    /// Inode of the peer; 0 if the peer is closed or not yet accepted. Unset if the socket isn't connected.
    std::optional<std::uint32_t> peer;
    /// Inodes of connections that wait for accept(2) at a listening socket, oldest first; 0 for a closed connection.
    std::vector<std::uint32_t> pending;
    /// For a listening socket, the number of connections that wait for accept(2). For other sockets, the number of
    /// readable bytes; for datagram sockets, only those of the first message.
    std::uint32_t receiveQueue = 0;
    /// For a listening socket, the backlog. For other sockets, the memory in bytes of sent data that the peer hasn't
    /// read.
    std::uint32_t sendQueue = 0;
    std::uint8_t shutdown = 0;  ///< bit 0: receiving is shut down; bit 1: sending is shut down
    std::optional<uid_t> uid;   ///< uid of the socket's creator; unset before Linux 5.3
};

/// Lists all Unix sockets in the calling thread's network namespace. While sockets are created or closed, the kernel
/// may omit a socket; readUnixSocket() finds it even then.
std::vector<UnixSocketInfo> readUnixSockets();

/// Reads the socket with this inode; nullopt if it doesn't exist.
std::optional<UnixSocketInfo> readUnixSocket(std::uint32_t inode);

/// Parses one message of the kernel without its netlink header. Throws Error if the message is too short.
UnixSocketInfo parseUnixSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
