// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/usernsd.hpp"
#include "criu/sockets/inet_endpoint.hpp"
#include "criu/sockets/tcp_repair.hpp"
#include "images/sk-inet.hpp"
#include "images/tcp-stream.hpp"

/// TCP connections and their images tcp-stream-INODE.img. An image contains the sequence numbers at the ends of both
/// queues; a FIN counts as one byte there. In the lengths of the queues, a FIN doesn't count.
namespace criu::sockets {

/// Returns the dumped value of SO_PEEK_OFF; nothing if the option is off.
[[nodiscard]] std::optional<int> peekOffset(const SkOptsEntry& options);

/// Dumps a connection in repair mode, and returns its TCP state. Throws Error if a queue contains out-of-band data, or
/// if a queue still changes. `entry`: image entry of the socket, with its options.
TcpState dumpTcpStream(const TcpRepair& socket, const InetSkEntry& entry, const ImageDir& images);

/// Throws the Error of bind(2) for a connection. `code`: errno value.
[[noreturn]] void refuseConnectionBind(int code, const InetEndpoint& local);

/// Restores one TCP connection. The constructor reads the image, and throws Error if the image is invalid.
class TcpStreamRestore {
public:
    TcpStreamRestore(const ImageDir& images, const InetSkEntry& entry);

    /// True if the receive queue is empty and no error is pending. If such a connection was closed, criu may restore it
    /// as a socket without addresses.
    [[nodiscard]] bool isSilent() const noexcept { return stream_->inq_len == 0 && !error_; }

    /// Makes the new `socket` an end of the connection, and leaves the socket in repair mode. A network lock must drop
    /// packets to the peer. `device`: scope id of the addresses; 0 if they need none.
    void connect(int socket, const InetConnection& connection, std::uint32_t device, const kernel::Usernsd* usernsd);

    /// Sets the state that must be set after the socket's options.
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
