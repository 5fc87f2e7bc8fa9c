// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/inet_dump.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/select.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/files/fown.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/net/changed_options.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/sockets/socket_options.hpp"
#include "criu/sockets/tcp_stream.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

constexpr int kMptcp = 262;  // IPPROTO_MPTCP
constexpr std::uint8_t kReadShut = 1;
constexpr std::uint8_t kWriteShut = 2;

/// Returns the local address of a socket; with `peer`, the peer's address. Uses SO_PEERNAME, because it returns the
/// peer even of a closed connection; getpeername(2) doesn't.
InetEndpoint endOf(int fd, int family, bool peer) {
    SocketAddress address{};
    socklen_t size = family == AF_INET ? sizeof(address.v4) : sizeof(address.v6);  // SO_PEERNAME refuses a larger size
    const int result =
        peer ? ::getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &address, &size) : ::getsockname(fd, &address.generic, &size);
    if (result == 0)
        return InetEndpoint::fromSocket(address);
    if (errno != ENOTCONN)
        failErrno("read the address of a socket");
    InetEndpoint none;
    none.family = family;
    return none;
}

InetConnection endsOf(int fd, const SocketType& type, const kernel::InetSocketInfo* listed) {
    if (type.type != SOCK_STREAM || listed == nullptr || listed->destinationPort == 0)
        return {endOf(fd, type.family, false), endOf(fd, type.family, true)};
    return {{type.family, listed->source, listed->sourcePort},
            {type.family, listed->destination, listed->destinationPort}};
}

std::vector<KnownOption> optionsOf(const kernel::InetListedOptions& listed) {
    std::vector<KnownOption> known;
    const auto add = [&known](int level, int option, std::optional<int> value) {
        if (value)
            known.push_back({level, option, *value});
    };
    add(SOL_SOCKET, SO_MARK, listed.mark);
    add(SOL_SOCKET, SO_RCVBUF, listed.receiveBuffer);
    add(SOL_SOCKET, SO_SNDBUF, listed.sendBuffer);
    add(IPPROTO_IP, IP_TOS, listed.tos);
    if (listed.flags) {
        add(IPPROTO_IP, IP_FREEBIND, listed.flags->freeBind);
        add(IPPROTO_IP, IP_TRANSPARENT, listed.flags->transparent);
        add(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, listed.flags->bindAddressNoPort);
        add(IPPROTO_IP, IP_RECVERR, listed.flags->receiveErrors);
        add(IPPROTO_IP, IP_RECVERR_RFC4884, listed.flags->receiveErrorsRfc4884);
    }
    return known;
}

void store(const InetEndpoint& end, std::size_t& count, std::uint32_t*& words, std::uint32_t& port, Arena& arena) {
    count = end.length();
    words = arena.copy(std::span<const std::uint32_t>(end.words).first(count));
    port = end.port;
}

void setShutdown(InetSkEntry& out, std::uint8_t bits) {
    out.has_shutdown = bits != 0;
    out.shutdown = static_cast<SkShutdown>(bits);
}

/// Derives the shutdown state of a TCP socket from its TCP state and poll(2).
std::uint8_t tcpShutdown(int fd, TcpState state) {
    pollfd ask{fd, POLLRDHUP, 0};
    sys(::poll(&ask, 1, 0), "poll a socket");
    std::uint8_t bits = hasSentFin(state) ? kWriteShut : 0;
    if ((ask.revents & POLLRDHUP) != 0)
        bits |= kReadShut;
    return bits;
}

[[noreturn]] void refuseUntilClosed(const files::OpenFd& file, std::string_view what) {
    Error error(0, fmt::format("{} {}, which can't be dumped", file.describe(), what));
    error.addHint("have the program close it before the dump");
    throw error;
}

void refuseUnknown(const files::OpenFd& file, const SocketType& type) {
    if (type.type == SOCK_RAW)
        return;
    switch (type.protocol) {
        case IPPROTO_TCP:
        case IPPROTO_UDP:
        case IPPROTO_UDPLITE:
        case IPPROTO_ICMP:
        case IPPROTO_ICMPV6:
        case kMptcp:
            return;
        default:
            refuseUntilClosed(file, fmt::format("is a socket of protocol {}", type.protocol));
    }
}

/// Copies a connection's descriptor for the time of the dump. The copy's number is above 1023, because libraries that
/// criu uses may need low numbers for select(2). Raises criu's soft limit of open files, because a tree may have many
/// connections.
UniqueFd heldCopy(int fd) {
    constexpr int kBeyondSelect = FD_SETSIZE;
    const auto copy = [fd] { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, kBeyondSelect)); };
    UniqueFd held = copy();
    if (held)
        return held;
    const int limit = kernel::raiseFileLimit();
    held = copy();
    if (!held)
        held = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!held)
        failErrno("copy a descriptor (at most {} are allowed)", limit);
    return held;
}

/// Refuses connections with an upper layer protocol such as kernel TLS, because criu can't dump the protocol's state.
void refuseUpperLayer(const files::OpenFd& file) {
    char name[32] = {};
    socklen_t size = sizeof(name);
    if (::getsockopt(file.copy.get(), IPPROTO_TCP, TCP_ULP, name, &size) == 0 && size != 0 && name[0] != '\0') {
        Error error(0, fmt::format("{} is a TCP connection with {} in the kernel, which can't be dumped",
                                   file.describe(), name));
        error.addHint(
            "dump with --tcp-close to have it closed on restore, or let the program do this itself (OpenSSL: "
            "without KTLS)");
        throw error;
    }
}

/// True if the socket has keys of TCP-AO (RFC 5925). criu refuses such a socket, because the kernel doesn't show the
/// keys.
bool hasAuthenticationKeys(int fd) {
    constexpr int kTcpAoInfo = 40;  // TCP_AO_INFO (6.7)
    std::array<std::byte, 64> info{};
    socklen_t size = info.size();
    return ::getsockopt(fd, IPPROTO_TCP, kTcpAoInfo, info.data(), &size) == 0;
}

/// Warns of bytes in the send queue of a UDP socket: a datagram in the making (MSG_MORE), whose content the kernel
/// doesn't show, or datagrams that the kernel sends later. Waits for a moment, because a device sends in the
/// background. `pauses`: number of pauses that are left for all sockets of the dump, because the tree is frozen.
void warnOfUnsent(const files::OpenFd& file, int& pauses, Log& log) {
    constexpr std::chrono::milliseconds kPause{5};
    for (;;) {
        int unsent = 0;
        sys(::ioctl(file.copy.get(), SIOCOUTQ, &unsent), "ask {} for its send queue", file.describe());
        if (unsent == 0)
            return;
        if (pauses == 0)
            break;
        --pauses;
        std::this_thread::sleep_for(kPause);
    }
    log.loss(Loss::Datagrams, "The send queue of {} is dropped: a datagram in the making (MSG_MORE), or unsent ones",
             file.describe());
}

[[noreturn]] void refuseMptcp(const files::OpenFd& file) {
    Error error(0, fmt::format("{} is an MPTCP connection, which can't be dumped", file.describe()));
    error.addHint("for programs in Go, GODEBUG=multipathtcp=0 makes them use TCP");
    throw error;
}

/// Warns of the IPv6 flow label with which a socket sends (IPV6_FLOWLABEL_MGR, ipv6(7)). The kernel doesn't show other
/// labels that the socket holds.
void warnOfFlowLabel(const files::OpenFd& file, Log& log) {
    constexpr int kFlowLabelManager = 32;  // IPV6_FLOWLABEL_MGR
    /// struct in6_flowlabel_req. <linux/in6.h> makes later includes of <net/if.h> and <linux/if.h> conflict.
    struct {
        in6_addr destination;
        std::uint32_t label;
        std::uint8_t action;  // IPV6_FL_A_GET is 0
        std::uint8_t share;
        std::uint16_t flags;
        std::uint16_t expires;
        std::uint16_t linger;
        std::uint32_t padding;
    } request{};
    static_assert(sizeof(request) == 32);
    socklen_t size = sizeof(request);
    if (::getsockopt(file.copy.get(), IPPROTO_IPV6, kFlowLabelManager, &request, &size) == 0 && request.label != 0)
        log.loss(Loss::SocketState, "{} sends with the IPv6 flow label {:#x}, which isn't kept", file.describe(),
                 ntohl(request.label));
}

/// Warns that the restored socket loses its error queue and its counter of SO_ZEROCOPY. criu can't read the error queue
/// without removing messages from it, and the kernel doesn't show the counter.
void warnOfErrorQueue(const files::OpenFd& file, const InetSkEntry& entry, Log& log) {
    const auto has = [](std::span<SkMoreOpt* const> options, int level, int name) {
        return std::ranges::any_of(options, [&](const SkMoreOpt* option) {
            return option->level == static_cast<std::uint32_t>(level) &&
                   option->name == static_cast<std::uint32_t>(name);
        });
    };
    const std::span<SkMoreOpt* const> own = list(entry.more, entry.n_more);
    const bool counts = has(list(entry.opts->more, entry.opts->n_more), SOL_SOCKET, SO_ZEROCOPY);
    if (counts)
        log.loss(Loss::ErrorQueue, "{} (SO_ZEROCOPY) will number what it sends without a copy from 0 on",
                 file.describe());
    if (!counts && !has(own, SOL_SOCKET, SO_TIMESTAMPING) && !has(own, IPPROTO_IP, IP_RECVERR) &&
        !has(own, IPPROTO_IPV6, IPV6_RECVERR))
        return;
    pollfd errors{file.copy.get(), 0, 0};
    if (::poll(&errors, 1, 0) > 0 && (errors.revents & POLLERR) != 0)
        log.loss(Loss::ErrorQueue, "Messages that wait in the error queue of {} are dropped", file.describe());
}

}  // namespace

const kernel::InetSocketInfo* InetDump::find(const files::OpenFd& file, const SocketType& type, std::uint32_t inode) {
    const int protocol = type.type == SOCK_RAW ? int{IPPROTO_RAW} : type.protocol;
    const std::lock_guard lock(mutex_);
    if (listed_.emplace(file.network, type.family, protocol).second)
        for (const kernel::InetSocketInfo& info : kernel::readInetSockets(type.family, protocol))
            known_.emplace(info.inode, info);
    const auto found = known_.find(inode);
    return found == known_.end() ? nullptr : &found->second;
}

InetSkEntry& InetDump::prepare(const files::OpenFd& file, Arena& arena) {
    const int fd = file.copy.get();
    SocketType type;
    type.family = file.socketFamily;
    type.type = readOption(fd, SOL_SOCKET, SO_TYPE, "SO_TYPE");
    type.protocol = readOption(fd, SOL_SOCKET, SO_PROTOCOL, "SO_PROTOCOL");

    auto& out = *arena.make<InetSkEntry>();
    out.ino = static_cast<std::uint32_t>(file.stat.st_ino);
    out.family = static_cast<std::uint32_t>(type.family);
    out.type = static_cast<std::uint32_t>(type.type);
    out.proto = static_cast<std::uint32_t>(type.protocol);
    out.flags = file.statusFlags();
    out.fown = files::readOwner(fd, arena);
    out.uid = file.stat.st_uid;
    out.gid = file.stat.st_gid;

    const kernel::InetSocketInfo* const listed = find(file, type, out.ino);
    const InetConnection ends = endsOf(fd, type, listed);
    store(ends.local, out.n_src_addr, out.src_addr, out.src_port, arena);
    store(ends.remote, out.n_dst_addr, out.dst_addr, out.dst_port, arena);
    const std::vector<KnownOption> known = listed != nullptr ? optionsOf(listed->options) : std::vector<KnownOption>();
    out.opts = dumpSocketOptions(fd, type.family, arena, known);
    if (ends.local.needsScope() && out.opts->so_bound_dev != nullptr)
        out.ifname = out.opts->so_bound_dev;
    options_.read(file.network, fd, type, ends.remote.port != 0, known, out, arena);
    return out;
}

void InetDump::add(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) {
    auto& out = *reinterpret_cast<InetSkEntry*>(file.prepared);
    const SocketType type{static_cast<int>(out.family), static_cast<int>(out.type), static_cast<int>(out.proto)};
    refuseUnknown(file, type);
    out.uid = dump.ids().innerUid(out.uid);
    out.has_uid = out.uid != 0 && out.uid != model::IdMap::kNone;
    out.gid = dump.ids().innerGid(out.gid);
    out.has_gid = out.gid != 0 && out.gid != model::IdMap::kNone;
    files::translateOwner(*out.fown, dump.ids(), dump.pids());
    entry.isk = &out;
    out.id = entry.id;
    out.has_ns_id = 1;
    out.ns_id = file.network;
    const InetConnection ends{InetEndpoint::fromImage(type.family, {out.src_addr, out.n_src_addr}, out.src_port),
                              InetEndpoint::fromImage(type.family, {out.dst_addr, out.n_dst_addr}, out.dst_port)};
    warnOfErrorQueue(file, out, dump.log());
    if (type.family == AF_INET6)
        warnOfFlowLabel(file, dump.log());
    if (type.type == SOCK_STREAM)
        addTcp(file, out, ends, dump);
    else
        addPackets(file, type, out, dump);
}

void InetDump::addTcp(const files::OpenFd& file, InetSkEntry& out, const InetConnection& ends, files::FileDump& dump) {
    const int fd = file.copy.get();
    const model::Options& options = dump.options();
    const SocketType type{static_cast<int>(out.family), SOCK_STREAM, IPPROTO_TCP};
    if (const kernel::InetSocketInfo* const known = find(file, type, out.ino);
        (known != nullptr && known->hasMd5Keys) || hasAuthenticationKeys(fd))
        refuseUntilClosed(file, "has keys to sign its segments (TCP_MD5SIG or TCP-AO)");
    const TcpInfo info = readTcpInfo(fd);
    out.state = static_cast<std::uint32_t>(info.state);
    out.backlog = info.backlog;
    setShutdown(out, tcpShutdown(fd, info.state));
    if (info.state == TcpState::Listen) {
        if (info.pending != 0 && !options.tcpSkipInFlight) {
            Error error(0, fmt::format("{} has {} connections that aren't accepted yet, which can't be dumped",
                                       file.describe(), info.pending));
            error.addHint("--skip-in-flight leaves them out: their clients will see a reset");
            throw error;
        }
        return;
    }
    if (info.state == TcpState::SynReceived)
        refuseUntilClosed(file, "is a connection whose handshake isn't done (TCP Fast Open)");
    const bool connected = info.state != TcpState::Close;
    if (connected && out.proto == kMptcp)
        refuseMptcp(file);
    if (connected && !options.tcpEstablished && !options.tcpClose) {
        Error error(0, fmt::format("{} is a TCP connection, {}", file.describe(), ends.text()));
        error.addHint("dump it with --tcp-established, or with --tcp-close to have it closed on restore");
        throw error;
    }
    if (ends.remote.port == 0 || options.tcpClose || out.proto == kMptcp)
        return;
    refuseUpperLayer(file);
    connections_.push_back({&out, heldCopy(fd), file.describe(), ends, info.state != TcpState::Close});
}

void InetDump::addPackets(const files::OpenFd& file, const SocketType& type, InetSkEntry& out, files::FileDump& dump) {
    const int fd = file.copy.get();
    const bool udp = type.type == SOCK_DGRAM && (type.protocol == IPPROTO_UDP || type.protocol == IPPROTO_UDPLITE);
    if (udp && readOption(fd, IPPROTO_UDP, UDP_CORK, "UDP_CORK") != 0) {
        Error error(0,
                    fmt::format("{} is corked (UDP_CORK): a datagram in the making can't be dumped", file.describe()));
        error.addHint("dump again when the program has sent the datagram and cleared UDP_CORK");
        throw error;
    }
    if (udp)
        warnOfUnsent(file, pauses_, dump.log());
    memberships_.read(file.network, fd, type.family, out, dump.arena());
    out.state = static_cast<std::uint32_t>(out.dst_port != 0 ? TcpState::Established : TcpState::Close);
    const kernel::InetSocketInfo* const info = find(file, type, out.ino);
    if (info == nullptr) {
        if (out.src_port != 0 || type.type == SOCK_RAW)
            dump.log().loss(Loss::SocketState, "The kernel doesn't say whether {} is connected or shut down",
                            file.describe());
        return;
    }
    out.state = info->state;
    setShutdown(out, info->shutdown);
    if (out.dst_port == 0)  // no port: a raw socket may be connected to an address without a port
        std::copy_n(info->destination.begin(), out.n_dst_addr, out.dst_addr);
    if (info->receiveQueue != 0)
        addQueue(file, out, info->receiveQueue);
}

void InetDump::addQueue(const files::OpenFd& file, InetSkEntry& out, std::size_t room) {
    WaitingQueue& queue = queues_.emplace_back(examineQueue(file, out, room));
    if (!showsInterface(out))
        return;
    const auto [known, isNew] = hostAddresses_.try_emplace(file.network);
    if (isNew)
        known->second = readHostAddresses();
    queue.hostAddresses = &known->second;
}

void InetDump::finish(files::FileDump& dump) {
    for (const WaitingQueue& queue : queues_)
        dumpQueue(queue, program_, dump.options().compat, dump.arena(), dump.log());
    queues_.clear();
    if (connections_.empty())
        return;
    std::vector<InetConnection> alive;
    for (const Connection& connection : connections_)
        if (connection.alive && lock_.isOf(connection.entry->ns_id))
            alive.push_back(connection.ends);
    lock_.lock(std::move(alive));
    recordOptions(dump.log().journal());
    dumpConnections(dump.images());
    connections_.clear();
}

/// Records options that dumpConnection() changes: the kernel resets SO_REUSEADDR in repair mode, and PeekFromStart
/// switches SO_PEEK_OFF off.
void InetDump::recordOptions(Journal& journal) const {
    kernel::ChangedOptions changed;
    for (const Connection& connection : connections_) {
        const InetSkEntry& entry = *connection.entry;
        if (entry.opts->has_reuseaddr != 0 && entry.opts->reuseaddr != 0)
            changed[entry.ino].push_back({SO_REUSEADDR, 1});
        if (const auto offset = peekOffset(*entry.opts))
            changed[entry.ino].push_back({SO_PEEK_OFF, *offset});
    }
    kernel::recordOptions(changed, journal);
}

void InetDump::dumpConnections(const ImageDir& images) {
    constexpr std::size_t kJob = 32;
    constexpr unsigned kMostThreads = 4;
    repaired_.resize(connections_.size());
    const auto some = [&](std::size_t first) {
        for (std::size_t i = first; i < std::min(first + kJob, connections_.size()); ++i) {
            const ErrorContext context([&] { return connections_[i].shown; });
            dumpConnection(connections_[i], repaired_[i], images);
        }
    };
    if (connections_.size() <= kJob)
        return some(0);
    ThreadPool pool(std::min(availableCores(), kMostThreads));
    for (std::size_t first = 0; first < connections_.size(); first += kJob)
        pool.submit([&some, first] { some(first); });
    pool.wait();
}

void InetDump::dumpConnection(Connection& connection, std::optional<TcpRepair>& repair, const ImageDir& images) const {
    InetSkEntry& out = *connection.entry;
    const int fd = connection.socket.get();
    const TcpState before = readTcpInfo(fd).state;
    setShutdown(out, tcpShutdown(fd, before));
    if (before == TcpState::Close) {
        pollfd ask{fd, 0, 0};
        sys(::poll(&ask, 1, 0), "poll a socket");
        out.has_error = out.error = (ask.revents & POLLERR) != 0;
    }
    repair.emplace(std::move(connection.socket));
    out.state = static_cast<std::uint32_t>(dumpTcpStream(*repair, out, images));
    if (lock_.method() != model::NetworkLock::Skip)
        repair->pause();
}

void InetDump::prepareKill() {
    lock_.makePermanent();
    for (std::optional<TcpRepair>& socket : repaired_)
        if (socket)
            socket->resume();
}

void InetDump::release() noexcept {
    lock_.unlock();
    repaired_.clear();
}

void InetDump::leaveLocked() noexcept {
    lock_.leaveInPlace();
    for (std::optional<TcpRepair>& socket : repaired_)
        if (socket)
            socket->closeQuietly();
    repaired_.clear();
}

}  // namespace criu::sockets
