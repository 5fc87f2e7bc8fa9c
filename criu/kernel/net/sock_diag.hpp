// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// What the kernel reports about sockets through NETLINK_SOCK_DIAG (sock_diag(7), <linux/unix_diag.h>).
namespace criu::kernel {

/// The states a Unix socket can be in; the numbers are those of TCP, in the kernel as in images.
enum class UnixState : std::uint8_t { Established = 1, Close = 7, Listen = 10 };

/// One Unix socket of a network namespace.
struct UnixSocketInfo {
    std::uint32_t inode = 0;  ///< as in "socket:[INODE]"
    int type = 0;             ///< SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET
    UnixState state{};
    /// sun_path as the kernel stores it: paths with their zero byte at the end, abstract names with one at the front;
    /// empty if unnamed.
    std::string name;
    /// Device and inode of the file a path was bound to. The device is in the kernel's own form, major << 20 | minor.
    struct File {
        std::uint32_t device = 0;
        std::uint32_t inode = 0;
    };
    std::optional<File> file;
    /// Inode of the other end; 0 if that one is closed or was not yet accepted. Absent: not connected.
    std::optional<std::uint32_t> peer;
    /// Listening: the sockets whose connections wait to be accepted, the oldest first; 0 for one closed meanwhile.
    std::vector<std::uint32_t> pending;
    /// Listening: connections that wait. Otherwise: bytes to be read (of datagrams: bytes of the first).
    std::uint32_t receiveQueue = 0;
    /// Listening: the backlog. Otherwise: memory taken by what was sent and isn't read yet.
    std::uint32_t sendQueue = 0;
    std::uint8_t shutdown = 0;  ///< 1: receiving, 2: sending is shut down
    std::optional<uid_t> uid;   ///< of its creator; absent on kernels before 5.3
};

/// All Unix sockets of the network namespace of the calling thread. While others come and go the kernel may leave out
/// some; ask for those with readUnixSocket().
std::vector<UnixSocketInfo> readUnixSockets();

/// One of them; nothing if there is none of this inode.
std::optional<UnixSocketInfo> readUnixSocket(std::uint32_t inode);

/// One answer of that dump, from behind the netlink header. Throws Error if it is too short to be one.
UnixSocketInfo parseUnixSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
