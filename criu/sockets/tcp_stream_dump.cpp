// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include <cstring>
#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/sockets/tcp_stream.hpp"

namespace criu::sockets {
namespace {

/// Maximum number of attempts to read a queue. A queue may change for a moment, because packets that passed the packet
/// filter before the network lock are still processed.
constexpr int kTries = 20;
constexpr timespec kBetweenTries{0, 500'000};

struct Queues {
    std::uint32_t receiveEnd = 0;
    std::uint32_t sendEnd = 0;
    std::uint32_t unsent = 0;
    std::vector<std::byte> received;
    std::vector<std::byte> toSend;
    TcpInfo info;
    std::optional<tcp_repair_window> window;  ///< unset before Linux 4.8
};

std::uint32_t ask(int socket, unsigned long request, const char* what) {
    int value = 0;
    sys(::ioctl(socket, request, &value), "read the length of {}", what);
    return static_cast<std::uint32_t>(value);
}

std::uint32_t sequence(int socket) {
    std::uint32_t value = 0;
    socklen_t size = sizeof(value);
    sys(::getsockopt(socket, IPPROTO_TCP, TCP_QUEUE_SEQ, &value, &size), "read a sequence number");
    return value;
}

/// Copies the selected queue to `out` without removing anything from it. Returns false if the queue doesn't have
/// exactly `length` bytes.
bool peek(int socket, std::uint32_t length, std::vector<std::byte>& out) {
    out.resize(length);
    if (length == 0)
        return true;
    std::byte beyond{};
    iovec parts[] = {{out.data(), out.size()}, {&beyond, sizeof(beyond)}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = std::size(parts);
    const ssize_t got = ::recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN)
        failErrno("read a queue of {} bytes", length);
    return got == static_cast<ssize_t>(length);
}

/// Refuses a receive queue with out-of-band data. Also refuses a queue if the program has read out-of-band data from
/// the middle of it, because the kernel shows such a queue too short.
void refuseOutOfBand(int socket, const SkOptsEntry& options) {
    if (options.so_oobinline != 0)
        return;
    const std::uint32_t plain = ask(socket, SIOCINQ, "a receive queue");
    const int on = 1;
    sys(::setsockopt(socket, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)), "set SO_OOBINLINE");
    int whole = 0;
    const int asked = ::ioctl(socket, SIOCINQ, &whole);
    const int off = 0;
    sys(::setsockopt(socket, SOL_SOCKET, SO_OOBINLINE, &off, sizeof(off)), "set SO_OOBINLINE back");
    if (asked == 0 && static_cast<std::uint32_t>(whole) > plain)
        fail("out-of-band data (MSG_OOB) waits in it, which can't be dumped");
}

/// Returns the windows of a connection; nullopt before Linux 4.8.
std::optional<tcp_repair_window> readWindow(int socket) {
    tcp_repair_window window{};
    socklen_t size = sizeof(window);
    if (::getsockopt(socket, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window, &size) == 0)
        return window;
    if (errno != ENOPROTOOPT)
        failErrno("read the window of a TCP connection");
    return std::nullopt;
}

/// Reads both queues, their lengths and the windows. Returns false if a queue has changed during the call.
bool readQueues(int socket, Queues& out) {
    out.info = readTcpInfo(socket);
    const TcpState state = out.info.state;
    const std::uint32_t inQueue = ask(socket, SIOCINQ, "a receive queue");
    std::uint32_t outQueue = ask(socket, SIOCOUTQ, "a send queue");
    out.unsent = ask(socket, SIOCOUTQNSD, "unsent data");
    if (state == TcpState::Close)
        outQueue = out.unsent = 0;  // a closed socket never sends its queue
    if (hasSentFin(state)) {
        outQueue -= outQueue > 0 ? 1 : 0;
        out.unsent -= out.unsent > 0 ? 1 : 0;
    }
    chooseQueue(socket, RepairQueue::Receive);
    out.receiveEnd = sequence(socket);
    if (!peek(socket, inQueue, out.received))
        return false;
    chooseQueue(socket, RepairQueue::Send);
    out.sendEnd = sequence(socket);
    if (!peek(socket, outQueue, out.toSend))
        return false;
    // Reads the windows between two looks at the receive queue: a restore sets them together, and the kernel refuses a
    // window that begins behind the queue's end.
    out.window = readWindow(socket);
    chooseQueue(socket, RepairQueue::Receive);
    const bool stable = sequence(socket) == out.receiveEnd;
    return stable && readTcpInfo(socket).state == state && ask(socket, SIOCINQ, "a receive queue") == inQueue;
}

/// Scope whose destructor deselects the repair queue. As long as the send queue is selected, the kernel marks data as
/// sent without sending it (tcp_write_xmit()). If an acknowledgement arrived in this state, all unsent data would be
/// delayed until a retransmission.
class QueueChoice {
public:
    explicit QueueChoice(int socket) : socket_(socket) {}
    ~QueueChoice() {
        const int none = TCP_NO_QUEUE;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_REPAIR_QUEUE, &none, sizeof(none));
    }
    QueueChoice(const QueueChoice&) = delete;
    QueueChoice& operator=(const QueueChoice&) = delete;

private:
    int socket_;
};

/// Scope in which SO_PEEK_OFF is off. With SO_PEEK_OFF, a peek wouldn't begin at the start of the queue (TCP since
/// Linux 6.9).
class PeekFromStart {
public:
    PeekFromStart(int socket, const SkOptsEntry& options) : socket_(socket), before_(peekOffset(options)) {
        if (before_)
            sys(::setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &kOff, sizeof(kOff)), "set socket option SO_PEEK_OFF");
    }
    ~PeekFromStart() {
        if (before_)
            ::setsockopt(socket_, SOL_SOCKET, SO_PEEK_OFF, &*before_, sizeof(*before_));
    }
    PeekFromStart(const PeekFromStart&) = delete;
    PeekFromStart& operator=(const PeekFromStart&) = delete;

private:
    static constexpr int kOff = -1;
    int socket_;
    std::optional<int> before_;
};

void setWindow(const tcp_repair_window& window, TcpStreamEntry& out) {
    out.has_snd_wl1 = out.has_snd_wnd = out.has_max_window = out.has_rcv_wnd = out.has_rcv_wup = 1;
    out.snd_wl1 = window.snd_wl1;
    out.snd_wnd = window.snd_wnd;
    out.max_window = window.max_window;
    out.rcv_wnd = window.rcv_wnd;
    out.rcv_wup = window.rcv_wup;
}

std::uint32_t readNumber(int socket, int option, const char* what) {
    std::uint32_t value = 0;
    socklen_t size = sizeof(value);
    sys(::getsockopt(socket, IPPROTO_TCP, option, &value, &size), "read {} of a TCP connection", what);
    return value;
}

}  // namespace

std::optional<int> peekOffset(const SkOptsEntry& options) {
    int offset = -1;
    for (const SkMoreOpt* const more : list(options.more, options.n_more))
        if (more->level == SOL_SOCKET && more->name == SO_PEEK_OFF && more->value.len == sizeof(offset))
            std::memcpy(&offset, more->value.data, sizeof(offset));
    return offset < 0 ? std::nullopt : std::optional<int>(offset);
}

TcpState dumpTcpStream(const TcpRepair& socket, const InetSkEntry& entry, const ImageDir& images) {
    const int fd = socket.fd();
    const PeekFromStart peeking(fd, *entry.opts);
    const QueueChoice choice(fd);
    Queues queues;
    refuseOutOfBand(fd, *entry.opts);
    for (int tries = 0; !readQueues(fd, queues); ++tries) {
        if (tries == kTries) {
            Error error(0, "the queues of the connection can't be read whole");
            error.addHint("they go on changing: is the network locked (--network-lock)?");
            throw error;
        }
        ::nanosleep(&kBetweenTries, nullptr);
    }
    const TcpInfo& info = queues.info;

    TcpStreamEntry stream = TCP_STREAM_ENTRY__INIT;
    stream.inq_len = static_cast<std::uint32_t>(queues.received.size());
    stream.inq_seq = queues.receiveEnd;
    stream.outq_len = static_cast<std::uint32_t>(queues.toSend.size());
    stream.outq_seq = queues.sendEnd;
    stream.has_unsq_len = 1;
    stream.unsq_len = queues.unsent;
    stream.opt_mask = info.options;
    stream.mss_clamp = readNumber(fd, TCP_MAXSEG, "the segment size");
    if ((info.options & TCPI_OPT_WSCALE) != 0) {
        stream.snd_wscale = info.sendScale;
        stream.has_rcv_wscale = 1;
        stream.rcv_wscale = info.receiveScale;
    }
    if ((info.options & TCPI_OPT_TIMESTAMPS) != 0) {
        stream.has_timestamp = 1;
        stream.timestamp = readNumber(fd, TCP_TIMESTAMP, "the clock");
    }
    if (queues.window)
        setWindow(*queues.window, stream);

    ImageWriter image = images.create(ImageKind::TcpStream, entry.ino);
    image.write(stream);
    image.payload(queues.received);
    image.payload(queues.toSend);
    image.finish();
    return info.state;
}

}  // namespace criu::sockets
