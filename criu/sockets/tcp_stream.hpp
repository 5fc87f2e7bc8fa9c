// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/usernsd.hpp"
#include "criu/sockets/inet_endpoint.hpp"
#include "criu/sockets/tcp_repair.hpp"
#include "images/sk-inet.hpp"
#include "images/tcp-stream.hpp"

/// A TCP connection and its image, tcp-stream-INODE.img. Sequence numbers there are of the ends of the queues, a FIN
/// that was sent or received included; lengths are of data only.
namespace criu::sockets {

/// Dump half: reads a connection in repair mode, and writes its image. `entry`: the socket, with its options. Returns
/// its state. Throws Error when its queues can't be read whole (out-of-band data), or go on changing.
TcpState dumpTcpStream(const TcpRepair& socket, const InetSkEntry& entry, const ImageDir& images);

/// Restore half. Everything that can be wrong with the image is found when this is made.
class TcpStreamRestore {
public:
    TcpStreamRestore(const ImageDir& images, const InetSkEntry& entry);

    /// Whether something is to be read from the socket, so that a connection must be made even if it is closed now.
    [[nodiscard]] bool isSilent() const noexcept { return stream_->inq_len == 0 && !error_; }

    /// Makes a fresh, bound-to-be `socket` the end of the connection, in repair mode, where it stays. `device`: number
    /// of the link that addresses need, or 0. What goes to the peer meanwhile must not reach it (NetworkLock).
    void connect(int socket, const InetConnection& connection, std::uint32_t device, const kernel::Usernsd* usernsd);

    /// When the options of the socket are set: the last touches.
    void finish(int socket) const;

private:
    void setSequences(int socket) const;
    void setOptions(int socket) const;
    void fillReceiveQueue(int socket);
    void fillSendQueue(int socket);
    void sendAll(int socket, std::uint32_t length);
    void setWindow(int socket, std::uint32_t sendWindow, std::uint32_t finsAhead) const;
    void restoreFins(int socket, const InetConnection& connection, std::uint32_t device) const;
    void sendFin(int socket) const;
    void await(int socket, TcpState wanted) const;
    [[nodiscard]] std::uint32_t receiveEnd() const noexcept;
    [[nodiscard]] std::uint32_t sendEnd() const noexcept;

    ImageReader image_;
    Record<TcpStreamEntry> stream_;
    TcpState state_;
    bool error_;
};

}  // namespace criu::sockets
