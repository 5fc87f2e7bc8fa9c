// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/usernsd.hpp"
#include "criu/sockets/inet_endpoint.hpp"
#include "criu/sockets/tcp_repair.hpp"
#include "images/sk-inet.hpp"
#include "images/tcp-stream.hpp"

/// TCP connection and its image, tcp-stream-INODE.img. Sequence numbers in it are those of the ends of the queues, and
/// count a FIN. Lengths count only data.
namespace criu::sockets {

/// Dumps a connection in repair mode. `entry`: the socket with its options. Returns the state. Throws Error if its
/// queues can't be read completely (out-of-band data), or still change.
TcpState dumpTcpStream(const TcpRepair& socket, const InetSkEntry& entry, const ImageDir& images);

/// Restore half. The constructor finds all errors of the image.
class TcpStreamRestore {
public:
    TcpStreamRestore(const ImageDir& images, const InetSkEntry& entry);

    /// True if nothing can be read from the socket, neither data nor an error. A closed connection may then be restored
    /// without addresses.
    [[nodiscard]] bool isSilent() const noexcept { return stream_->inq_len == 0 && !error_; }

    /// Makes the new `socket` an end of the connection, and leaves it in repair mode. `device`: scope id for addresses,
    /// or 0. The NetworkLock must drop packets to the peer.
    void connect(int socket, const InetConnection& connection, std::uint32_t device, const kernel::Usernsd* usernsd);

    /// Does the last steps, after the options of the socket are set.
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
