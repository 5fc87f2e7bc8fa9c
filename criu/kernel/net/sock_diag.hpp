// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Unix sockets as NETLINK_SOCK_DIAG reports them (sock_diag(7), <linux/unix_diag.h>).
namespace criu::kernel {

/// States of a Unix socket. The kernel and images use TCP's numbers.
enum class UnixState : std::uint8_t { Established = 1, Close = 7, Listen = 10 };

/// Unix socket of a network namespace.
struct UnixSocketInfo {
    std::uint32_t inode = 0;  ///< inode as in "socket:[INODE]"
    int type = 0;             ///< SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET
    UnixState state{};
    /// sun_path as the kernel stores it: paths end with a zero byte, abstract names begin with one. Empty if unnamed.
    std::string name;
    /// File that the socket's path was bound to. The device is in the kernel's internal encoding, major << 20 |
    /// minor.
    struct File {
        std::uint32_t device = 0;
        std::uint32_t inode = 0;
    };
    std::optional<File> file;
    /// Inode of the peer; 0 if the peer is closed or not yet accepted. Unset if not connected.
    std::optional<std::uint32_t> peer;
    /// Listening socket: inodes of unaccepted connections, oldest first; 0 for a closed one.
    std::vector<std::uint32_t> pending;
    /// Listening socket: number of unaccepted connections. Other sockets: readable bytes; for datagrams, bytes of the
    /// first.
    std::uint32_t receiveQueue = 0;
    /// Listening socket: the backlog. Other sockets: memory used by sent data that the peer hasn't read.
    std::uint32_t sendQueue = 0;
    std::uint8_t shutdown = 0;  ///< bit 0: receiving, bit 1: sending is shut down
    std::optional<uid_t> uid;   ///< uid of its creator; unset before Linux 5.3
};

/// Lists all Unix sockets of the calling thread's network namespace. The kernel may omit some while sockets are
/// created or closed; readUnixSocket() finds these.
std::vector<UnixSocketInfo> readUnixSockets();

/// Reads one socket; nullopt if no socket has this inode.
std::optional<UnixSocketInfo> readUnixSocket(std::uint32_t inode);

/// Parses one answer without its netlink header. Throws Error if it is too short.
UnixSocketInfo parseUnixSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
