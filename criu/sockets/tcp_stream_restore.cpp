// SPDX-License-Identifier: GPL-2.0-only
#include <linux/if.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/sockets/socket_options.hpp"
#include "criu/sockets/tcp_segment.hpp"
#include "criu/sockets/tcp_stream.hpp"

namespace criu::sockets {
namespace {

/// Maximum number of bytes for one send(2). In repair mode, the kernel allocates one contiguous buffer for the data of
/// each call.
constexpr std::uint32_t kPiece = 64 << 10;
constexpr std::uint8_t kLargestScale = 14;
constexpr std::uint32_t kLargestSegment = 32767;  // maximum for TCP_MAXSEG
constexpr std::uint32_t kSmallestSegment = 88;
constexpr std::uint32_t kUsualSegment = 536;  // TCP_MSS_DEFAULT

/// Scope in which a socket isn't bound to its device. Forged segments arrive on the loopback device, so a socket that
/// is bound to another device wouldn't get them.
class UnboundScope {
public:
    explicit UnboundScope(int socket) : socket_(socket) {
        socklen_t size = IFNAMSIZ;
        sys(::getsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, device_.data(), &size), "read SO_BINDTODEVICE");
        length_ = size;
        if (length_ != 0)
            sys(::setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, "", 0), "unbind a socket from its device");
    }
    ~UnboundScope() {
        if (length_ != 0)
            ::setsockopt(socket_, SOL_SOCKET, SO_BINDTODEVICE, device_.data(), length_);
    }
    UnboundScope(const UnboundScope&) = delete;
    UnboundScope& operator=(const UnboundScope&) = delete;

private:
    int socket_;
    std::array<char, IFNAMSIZ> device_{};
    socklen_t length_ = 0;
};

/// Sets the socket's maximum segment size (TCP_MAXSEG). 0 means that the peer's maximum applies.
void setSegmentSize(int socket, std::uint32_t size) {
    sys(::setsockopt(socket, IPPROTO_TCP, TCP_MAXSEG, &size, sizeof(size)), "set the segment size to {}", size);
}

/// Returns the largest segment size that the peer accepts and that fits its windows. The kernel sends no segment larger
/// than half the largest window that it has seen (tcp_bound_to_half_wnd() in include/net/tcp.h). A larger segment would
/// wait for a window that the peer never offers. The kernel would then send data only by window probes, some kilobytes
/// a second.
std::uint32_t usableSegment(const TcpStreamEntry& stream) {
    std::uint32_t size = stream.mss_clamp;
    if (stream.has_max_window != 0 && stream.max_window != 0)
        size = std::min(size, stream.max_window > kUsualSegment ? stream.max_window / 2 : stream.max_window);
    return std::clamp(size, kSmallestSegment, kLargestSegment);
}

/// Returns the sequence number that comes first. Sequence numbers wrap around.
std::uint32_t lower(std::uint32_t one, std::uint32_t other) noexcept {
    return static_cast<std::int32_t>(one - other) < 0 ? one : other;
}

void setSequence(int socket, RepairQueue queue, std::uint32_t value) {
    chooseQueue(socket, queue);
    sys(::setsockopt(socket, IPPROTO_TCP, TCP_QUEUE_SEQ, &value, sizeof(value)), "set a sequence number");
}

void putIntoQueue(int socket, std::span<const std::byte> data) {
    while (!data.empty()) {
        const ssize_t sent =
            ::send(socket, data.data(), std::min<std::size_t>(data.size(), kPiece), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent <= 0)
            failErrno("put {} bytes into a queue of a TCP connection", data.size());
        data = data.subspan(static_cast<std::size_t>(sent));
    }
}

}  // namespace

void refuseConnectionBind(int code, const InetEndpoint& local) {
    Error error(code, fmt::format("bind a socket to {}", local.text()));
    if (code == EADDRNOTAVAIL)
        error.addHint("a connection can only be restored where its address is");
    throw error;
}

TcpStreamRestore::TcpStreamRestore(const ImageDir& images, const InetSkEntry& entry)
    : image_(images.openRequired(ImageKind::TcpStream, entry.ino)),
      stream_(image_.one<TcpStreamEntry>()),
      state_(static_cast<TcpState>(entry.state)),
      error_(entry.has_error != 0 && entry.error != 0) {
    const TcpStreamEntry& stream = *stream_;
    if (stream.has_unsq_len == 0 || stream.unsq_len > stream.outq_len)
        fail("{} doesn't tell how much of {} bytes is unsent", image_.name(), stream.outq_len);
    if ((stream.opt_mask & TCPI_OPT_WSCALE) != 0 &&
        (stream.has_rcv_wscale == 0 || stream.snd_wscale > kLargestScale || stream.rcv_wscale > kLargestScale))
        fail("{} has no good window scales", image_.name());
    if ((stream.opt_mask & TCPI_OPT_TIMESTAMPS) != 0 && stream.has_timestamp == 0)
        fail("{} has no timestamp", image_.name());
    switch (state_) {
        case TcpState::Established:
        case TcpState::SynSent:
        case TcpState::FinWait1:
        case TcpState::FinWait2:
        case TcpState::Close:
        case TcpState::CloseWait:
        case TcpState::LastAck:
        case TcpState::Closing:
            return;
        default:
            fail("a TCP connection is in state {}, which can't be restored", entry.state);
    }
}

/// Returns the sequence number after the end of the receive queue. A FIN doesn't count.
std::uint32_t TcpStreamRestore::receiveEnd() const noexcept {
    return stream_->inq_seq - (hasReceivedFin(state_) ? 1 : 0);
}

std::uint32_t TcpStreamRestore::sendEnd() const noexcept {
    return stream_->outq_seq - (hasSentFin(state_) ? 1 : 0);
}

void TcpStreamRestore::connect(int socket, const InetConnection& connection, std::uint32_t device,
                               const kernel::Usernsd* usernsd) {
    raiseBuffers(socket, usernsd);
    enterRepair(socket);
    SocketAddress address{};
    socklen_t length = connection.local.store(address, device);
    if (::bind(socket, &address.generic, length) != 0)
        refuseConnectionBind(errno, connection.local);
    setSequences(socket);
    // Limits the segment size before connect(2). In connect(2), the kernel computes its segment size from the peer's
    // maximum, but criu can set this maximum only later. Without the limit, the kernel would send only small segments.
    setSegmentSize(socket, usableSegment(*stream_));

    length = connection.remote.store(address, device);
    const bool handshake = state_ == TcpState::SynSent;
    if (handshake)
        leaveRepairQuietly(socket);  // outside of repair mode, connect(2) sends the SYN again
    if (::connect(socket, &address.generic, length) != 0 && !(handshake && errno == EINPROGRESS))
        failErrno("connect a socket to {}", connection.remote.text());
    if (handshake) {
        enterRepair(socket);
        return setSegmentSize(socket, 0);
    }
    setSegmentSize(socket, 0);
    setOptions(socket);
    fillReceiveQueue(socket);
    // If there is unsent data, sets the window to 0: the kernel must not send this data before the network is unlocked.
    setWindow(socket, stream_->unsq_len != 0 ? 0 : stream_->snd_wnd, hasReceivedFin(state_) ? 1 : 0);
    fillSendQueue(socket);
    restoreFins(socket, connection, device);
}

void TcpStreamRestore::setSequences(int socket) const {
    setSequence(socket, RepairQueue::Receive, receiveEnd() - stream_->inq_len);
    const std::uint32_t begin = sendEnd() - stream_->outq_len;
    setSequence(socket, RepairQueue::Send, state_ == TcpState::SynSent ? begin - 1 : begin);
}

void TcpStreamRestore::setOptions(int socket) const {
    std::vector<tcp_repair_opt> options;
    const auto has = [this](unsigned bit) { return (stream_->opt_mask & bit) != 0; };
    if (has(TCPI_OPT_SACK))
        options.push_back({TCPOPT_SACK_PERMITTED, 0});
    if (has(TCPI_OPT_WSCALE))
        options.push_back({TCPOPT_WINDOW, stream_->snd_wscale | stream_->rcv_wscale << 16});
    if (has(TCPI_OPT_TIMESTAMPS))
        options.push_back({TCPOPT_TIMESTAMP, 0});
    options.push_back({TCPOPT_MAXSEG, stream_->mss_clamp});
    sys(::setsockopt(socket, IPPROTO_TCP, TCP_REPAIR_OPTIONS, options.data(),
                     static_cast<socklen_t>(options.size() * sizeof(tcp_repair_opt))),
        "set what a TCP connection has agreed upon");
    if (has(TCPI_OPT_TIMESTAMPS))
        sys(::setsockopt(socket, IPPROTO_TCP, TCP_TIMESTAMP, &stream_->timestamp, sizeof(stream_->timestamp)),
            "set the clock of a TCP connection");
}

void TcpStreamRestore::sendAll(int socket, std::uint32_t length) {
    const auto piece = std::make_unique_for_overwrite<std::byte[]>(std::min(length, kPiece));
    while (length != 0) {
        const std::span<std::byte> part(piece.get(), std::min(length, kPiece));
        image_.readPayload(part);
        putIntoQueue(socket, part);
        length -= static_cast<std::uint32_t>(part.size());
    }
}

void TcpStreamRestore::fillReceiveQueue(int socket) {
    chooseQueue(socket, RepairQueue::Receive);
    sendAll(socket, stream_->inq_len);
}

void TcpStreamRestore::fillSendQueue(int socket) {
    chooseQueue(socket, RepairQueue::Send);
    sendAll(socket, stream_->outq_len - stream_->unsq_len);
    if (stream_->unsq_len == 0)
        return;
    // Reads all data before, because the socket leaves repair mode for the time of the sends.
    const auto unsent = std::make_unique_for_overwrite<std::byte[]>(stream_->unsq_len);
    const std::span<std::byte> data(unsent.get(), stream_->unsq_len);
    image_.readPayload(data);
    ResetIfClosed reset(socket);
    leaveRepairQuietly(socket);  // in repair mode, the kernel would mark all data as sent without sending it
    putIntoQueue(socket, data);
    enterRepair(socket);
    reset.end();
}

void TcpStreamRestore::setWindow(int socket, std::uint32_t sendWindow, std::uint32_t finsAhead) const {
    if (stream_->has_snd_wnd == 0)
        return;
    tcp_repair_window window{};
    window.snd_wnd = sendWindow;
    window.max_window = stream_->max_window;
    window.rcv_wnd = stream_->rcv_wnd + finsAhead;
    // CRIU 4.2 reads the windows after the queue, so that its image may have data in the window that the queue lacks.
    window.rcv_wup = lower(stream_->rcv_wup, stream_->inq_seq) - finsAhead;
    // The kernel refuses a segment of the last window update (snd_wl1) behind the receive window
    // (tcp_repair_set_window()). A socket that ran out of memory can have one, because Linux 6.6 and later shrink its
    // window (tcp_select_window()). A lower number only lets the kernel accept more window updates.
    window.snd_wl1 = lower(stream_->snd_wl1, receiveEnd() + window.rcv_wnd);
    sys(::setsockopt(socket, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window, sizeof(window)),
        "set the window of a TCP connection");
}

/// Ends the sending direction. If there is no unsent data, the kernel marks the FIN as sent.
void TcpStreamRestore::sendFin(int socket) const {
    chooseQueue(socket, stream_->unsq_len == 0 ? RepairQueue::Send : RepairQueue::None);
    sys(::shutdown(socket, SHUT_WR), "end the sending direction of a TCP connection");
}

void TcpStreamRestore::restoreFins(int socket, const InetConnection& connection, std::uint32_t device) const {
    if (state_ == TcpState::Established)
        return;
    const UnboundScope unbound(socket);
    const InetConnection wire = connection.unmapped();
    TcpSegment segment{wire.remote, wire.local, receiveEnd(), sendEnd() - stream_->outq_len};
    if (stream_->unsq_len == 0)
        segment.window = static_cast<std::uint16_t>(std::min(stream_->snd_wnd >> stream_->snd_wscale, 0xffffU));

    if (state_ == TcpState::Close) {
        // Closes the connection by a forged reset, so that the kernel keeps no TIME_WAIT state.
        segment.reset = true;
        forgeSegment(segment, device);
        return await(socket, TcpState::Close);
    }
    const bool ownFirst = state_ != TcpState::LastAck && hasSentFin(state_);
    if (ownFirst)
        sendFin(socket);
    if (state_ == TcpState::FinWait2) {
        segment.acknowledged = stream_->outq_seq;
        forgeSegment(segment, device);
    }
    if (hasReceivedFin(state_)) {
        segment.fin = true;
        forgeSegment(segment, device);
    }
    if (state_ == TcpState::LastAck) {
        await(socket, TcpState::CloseWait);
        sendFin(socket);
    }
    await(socket, state_);
}

void TcpStreamRestore::await(int socket, TcpState wanted) const {
    constexpr int kTries = 2000;
    constexpr timespec kBetween{0, 500'000};
    TcpState now{};
    for (int tries = 0; tries < kTries; ++tries) {
        now = readTcpInfo(socket).state;
        if (now == wanted)
            return;
        ::nanosleep(&kBetween, nullptr);
    }
    Error error(0, fmt::format("a TCP connection came to state {} instead of {}", static_cast<int>(now),
                               static_cast<int>(wanted)));
    error.addHint(fmt::format("rules of the packet filter may have dropped a packet that criu sent with mark {:#x}",
                              kPassingMark));
    throw error;
}

void TcpStreamRestore::finish(int socket) const {
    if (state_ == TcpState::SynSent)
        return;
    if (state_ == TcpState::Close) {
        int error = 0;
        socklen_t size = sizeof(error);
        if (!error_)  // clears the error that the forged reset caused
            sys(::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size), "clear the error of a socket");
        return;
    }
    chooseQueue(socket, RepairQueue::None);
    // Older images have TCP_NODELAY and TCP_CORK in the stream image instead of the socket's entry.
    const int on = 1;
    if (stream_->has_nodelay != 0 && stream_->nodelay != 0)
        sys(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), "set TCP_NODELAY");
    if (stream_->has_cork != 0 && stream_->cork != 0)
        sys(::setsockopt(socket, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)), "set TCP_CORK");
    setWindow(socket, stream_->snd_wnd, 0);
}

}  // namespace criu::sockets
