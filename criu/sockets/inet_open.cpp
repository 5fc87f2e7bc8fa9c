// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/inet_open.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/net/inet_diag.hpp"
#include "criu/kernel/proc/fd_holders.hpp"
#include "criu/model/options.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/sockets/fresh_options.hpp"
#include "criu/sockets/host_addresses.hpp"
#include "criu/sockets/inet_options.hpp"
#include "criu/sockets/multicast.hpp"
#include "criu/sockets/socket_options.hpp"
#include "criu/sockets/tcp_stream.hpp"
#include "criu/sockets/udp_queue.hpp"

namespace criu::sockets {
namespace {

void setFlag(int socket, int option, int value, const char* name) {
    sys(::setsockopt(socket, SOL_SOCKET, option, &value, sizeof(value)), "set socket option {}", name);
}

int howOf(SkShutdown shutdown) {
    switch (shutdown) {
        case SK_SHUTDOWN__READ:
            return SHUT_RD;
        case SK_SHUTDOWN__WRITE:
            return SHUT_WR;
        default:
            return SHUT_RDWR;
    }
}

std::uint32_t deviceOf(const InetSkEntry& entry) {
    const char* name = entry.ifname != nullptr ? entry.ifname : entry.opts->so_bound_dev;
    if (name == nullptr)
        return 0;
    const unsigned index = ::if_nametoindex(name);
    if (index == 0)
        failErrno("find the network device {}", name);
    return index;
}

}  // namespace

RestoredInet::RestoredInet(const InetSkEntry& entry, const model::Options& options, const AddressUpdate& update,
                           FreshOptions& fresh)
    : entry_(entry), fresh_(fresh), state_(static_cast<TcpState>(entry.state)), tcpClose_(options.tcpClose) {
    given_ = std::any_of(options.inheritFds.begin(), options.inheritFds.end(),
                         [this](const model::InheritFd& given) { return given.name == name(); });
    const auto end = [&](const std::uint32_t* words, std::size_t count, std::uint32_t port) {
        return InetEndpoint::fromImage(static_cast<int>(entry.family), list(words, count), port);
    };
    dumpedEnds_ = {end(entry.src_addr, entry.n_src_addr, entry.src_port),
                   end(entry.dst_addr, entry.n_dst_addr, entry.dst_port)};
    ends_ = dumpedEnds_;
    if (!given_) {
        localMapping_ = ends_.local.replaceAddress(options.inetMap);
        remoteMapping_ = ends_.remote.replaceAddress(options.inetMap);
        peerMoves_ = remoteMapping_ != nullptr && remoteMapping_ != localMapping_;
        if (update)
            update(entry.state, ends_);
    }
    if (isConnection() && state_ != TcpState::Close && !options.tcpEstablished && !tcpClose_) {
        Error error(0, fmt::format("the images have a TCP connection, {}", ends_.text()));
        error.addHint("restore it with --tcp-established, or with --tcp-close to have it closed");
        throw error;
    }
    if (state_ == TcpState::Listen && entry.type != SOCK_STREAM)
        fail("a socket of type {} can't listen", entry.type);
}

std::string RestoredInet::name() const {
    return fmt::format("socket:[{}]", entry_.ino);
}

std::string RestoredInet::describe() const {
    return fmt::format("{} ({})", name(), ends_.remote.port != 0 ? ends_.text() : ends_.local.text());
}

bool RestoredInet::isTcp() const noexcept {
    return entry_.type == SOCK_STREAM;
}

void RestoredInet::open(files::FileOpener& opener) {
    if (const int given = opener.inherited(name()); given >= 0) {
        opener.provide(id(), UniqueFd(sys(::fcntl(given, F_DUPFD_CLOEXEC, 0), "copy the descriptor for {}", name())));
        return;
    }
    UniqueFd socket = opener.settle(id(), newSocket());
    fresh_.learn(network(), type(), socket.get());
    restoreDevice(socket.get(), *entry_.opts);
    restoreEarlyInetOptions(socket.get(), entry_, opener.log(), fresh_.of(network(), type()));
    const std::uint32_t device = deviceOf(entry_);
    if (changesReuse())
        shareAddress(socket.get());
    if (isConnection())
        openConnection(socket.get(), device, opener);
    else
        openOther(socket.get(), device, opener);
    // Ends repair mode of a socket in flight here, because later no process has a descriptor of it. Sends no window
    // probe, because a peer in the tree may not exist yet.
    if (isInRepair() && !opener.isHeld(id())) {
        leaveRepairQuietly(socket.get());
        restoreReuse(socket.get());
    }
    opener.provide(id(), std::move(socket));
}

SocketType RestoredInet::type() const noexcept {
    return {static_cast<int>(entry_.family), static_cast<int>(entry_.type), static_cast<int>(entry_.proto)};
}

UniqueFd RestoredInet::newSocket() const {
    return UniqueFd(sys(::socket(static_cast<int>(entry_.family), static_cast<int>(entry_.type) | SOCK_CLOEXEC,
                                 static_cast<int>(entry_.proto)),
                        "create a socket of protocol {}", entry_.proto));
}

/// Lets bind(2) succeed for several dumped sockets with the same address. It requires SO_REUSEADDR for all of them, or
/// SO_REUSEPORT for several listeners (socket(7)). complete() later sets both options to the dumped values.
void RestoredInet::shareAddress(int socket) const {
    setFlag(socket, SO_REUSEADDR, 1, "SO_REUSEADDR");
    if (portShared_ || reusesPort())
        setFlag(socket, SO_REUSEPORT, 1, "SO_REUSEPORT");
}

void RestoredInet::openConnection(int socket, std::uint32_t device, files::FileOpener& opener) const {
    if (tcpClose_) {
        ::shutdown(socket, SHUT_RDWR);  // returns ENOTCONN for the unconnected socket, but still shuts it down
        return finishOpen(socket, opener);
    }
    sys(::fcntl(socket, F_SETFL, O_NONBLOCK), "make a socket non-blocking");
    TcpStreamRestore stream(opener.images(), entry_);
    const bool connected = tryConnect(stream, socket, device, opener);
    finishOpen(socket, opener);
    if (connected)
        stream.finish(socket);
}

/// Restores a connection. Returns false if the restore of a closed connection without unread data fails. The caller
/// then restores a closed socket without addresses.
bool RestoredInet::tryConnect(TcpStreamRestore& stream, int socket, std::uint32_t device,
                              files::FileOpener& opener) const {
    try {
        stream.connect(socket, ends_, device, opener.usernsd());
        return true;
    } catch (const Error& error) {
        if (state_ != TcpState::Close || !stream.isSilent())
            throw;
        opener.log().warn("The closed connection {} is restored without its addresses: {}", ends_.text(), error.what());
    }
    leaveRepairQuietly(socket);
    ::shutdown(socket, SHUT_RDWR);
    return false;
}

void RestoredInet::openOther(int socket, std::uint32_t device, files::FileOpener& opener) const {
    // Remains until the socket is connected, because a connected socket has no datagrams of other programs.
    std::optional<PassingFilter> filter;
    if (entry_.n_datagrams != 0) {
        filter.emplace(socket);
        bindWithQueue(socket, device, opener);
    } else if (isBound())
        bind(socket, device);
    if (isBound() && lacksAddress(device))
        opener.log().warn("{}", describeLack());
    if (state_ == TcpState::Listen)
        sys(::listen(socket, static_cast<int>(entry_.backlog)), "listen at {}", ends_.local.text());
    if (!isTcp() && (ends_.remote.port != 0 || !ends_.remote.isAny())) {
        SocketAddress address{};
        const socklen_t length = ends_.remote.store(address, device);
        sys(::connect(socket, &address.generic, length), "connect a socket to {}", ends_.remote.text());
    }
    filter.reset();
    if (!isTcp())
        restoreMemberships(socket, entry_);
    finishOpen(socket, opener);
}

/// Destroys TIME_WAIT connections at the port, and repeats bind(2). The kernel keeps closed connections of a listener
/// in TIME_WAIT for a minute. If such a connection didn't have SO_REUSEADDR, it blocks the port for new sockets.
bool RestoredInet::bindAfterClosed(int socket, std::uint32_t device) const {
    // Searches both families, because an IPv6 socket may have had IPv4 connections.
    const std::size_t forgotten = kernel::destroyClosedConnections(AF_INET6, ends_.local.port) +
                                  kernel::destroyClosedConnections(AF_INET, ends_.local.port);
    return forgotten != 0 && tryBind(socket, device) == 0;
}

/// Binds a UDP socket, and puts the datagrams of the images into its queue. If possible, first binds it to another
/// port, because several sockets may share the dumped one.
void RestoredInet::bindWithQueue(int socket, std::uint32_t device, files::FileOpener& opener) const {
    // The kernel stores some ancillary data, such as that of IP_PKTINFO, when a datagram arrives.
    restoreInetOptions(socket, entry_, opener.log());
    const auto refill = [&](const InetEndpoint& local) {
        refillQueue(socket, entry_, {local, dumpedEnds_.local, device, opener.options().inetMap}, opener.log());
    };
    const bool usesOther = !showsDestinationPort(entry_) && bindToFreePort(socket, device);
    if (usesOther) {
        SocketAddress address{};
        socklen_t length = sizeof(address);
        sys(::getsockname(socket, &address.generic, &length), "read the address of a socket");
        refill(InetEndpoint::fromSocket(address));
        unbind(socket);
        restoreDevice(socket, *entry_.opts);
    }
    shareAddress(socket);
    bind(socket, device);
    if (!usesOther)
        refill(ends_.local);
}

/// Binds to the dumped address and a port that the kernel chooses. Switches off the options by which the kernel could
/// choose a port that another program uses with the same options.
bool RestoredInet::bindToFreePort(int socket, std::uint32_t device) const {
    setFlag(socket, SO_REUSEADDR, 0, "SO_REUSEADDR");
    setFlag(socket, SO_REUSEPORT, 0, "SO_REUSEPORT");
    InetEndpoint other = ends_.local;
    other.port = 0;
    SocketAddress address{};
    const socklen_t length = other.store(address, device);
    return ::bind(socket, &address.generic, length) == 0;
}

/// Binds to the address even if no interface has it yet (IP_FREEBIND). Without IP_FREEBIND, the kernel refuses a new
/// IPv6 address until duplicate address detection (RFC 4862) has ended. Returns 0 or an errno value.
int RestoredInet::tryBind(int socket, std::uint32_t device) const {
    const int freely = 1;
    sys(::setsockopt(socket, IPPROTO_IP, IP_FREEBIND, &freely, sizeof(freely)) == 0 || errno == ENOPROTOOPT ? 0 : -1,
        "set socket option IP_FREEBIND");
    SocketAddress address{};
    const socklen_t length = ends_.local.store(address, device);
    return ::bind(socket, &address.generic, length) == 0 ? 0 : errno;
}

void RestoredInet::bind(int socket, std::uint32_t device) const {
    const int code = tryBind(socket, device);
    if (code != 0 && (code != EADDRINUSE || !isTcp() || !bindAfterClosed(socket, device)))
        refuseBind(code);
}

void RestoredInet::refuseBind(int code) const {
    Error error(code, fmt::format("bind a socket to {}", ends_.local.text()));
    if (code == EADDRINUSE) {
        const std::string holder = holderOfPort();
        error.addHint(holder.empty() ? "another program uses this port now: end it"
                                     : fmt::format("{} uses this port now: end it", holder));
    }
    throw error;
}

/// True if bind(2) was called. Without a port, only raw sockets can have an address.
bool RestoredInet::isBound() const noexcept {
    return ends_.local.port != 0 || (entry_.type == SOCK_RAW && !ends_.local.isAny());
}

/// True if the dumped program allowed itself addresses that the host lacks, by IP_FREEBIND or IP_TRANSPARENT.
bool RestoredInet::mayLackAddress() const noexcept {
    const auto allows = [](const SkMoreOpt* option) {
        return (option->level == IPPROTO_IP && option->name == IP_TRANSPARENT) ||
               (option->level == IPPROTO_IPV6 && option->name == IPV6_TRANSPARENT);
    };
    const auto more = list(entry_.more, entry_.n_more);
    return (entry_.ip_opts != nullptr && entry_.ip_opts->has_freebind != 0 && entry_.ip_opts->freebind != 0) ||
           std::any_of(more.begin(), more.end(), allows);
}

/// True if the network namespace has no address such as the socket's, so that no packet reaches the socket.
bool RestoredInet::lacksAddress(std::uint32_t device) const {
    InetEndpoint address = ends_.local;
    address.port = 0;
    const InetEndpoint plain = address.unmapped();
    if (plain.isAny() || isForMany(plain) || isLoopback(plain) || mayLackAddress())
        return false;
    // bind(2) also accepts addresses that only a local route has. It refuses IPv6 addresses until duplicate address
    // detection (RFC 4862) has ended, but the list of addresses has them.
    const UniqueFd probe(
        sys(::socket(plain.family, SOCK_DGRAM | SOCK_CLOEXEC, 0), "create a socket of family {}", plain.family));
    SocketAddress bytes{};
    const socklen_t length = plain.store(bytes, device);
    return ::bind(probe.get(), &bytes.generic, length) != 0 && errno == EADDRNOTAVAIL &&
           !isOfHost(plain, readHostAddresses());
}

std::string RestoredInet::describeLack() const {
    return fmt::format("{} is bound to {}, but no network interface has this address: nothing reaches the socket{}",
                       name(), ends_.local.text(),
                       localMapping_ != nullptr ? " (check the new address of --inet-map)"
                                                : " (--inet-map gives sockets another address)");
}

/// Returns a text such as "process 7 (nginx)". Returns an empty text if criu finds no process with a socket at the
/// port, for example if only closed connections use the port.
std::string RestoredInet::holderOfPort() const {
    for (const int family : {AF_INET, AF_INET6})
        for (const kernel::InetSocketInfo& socket : kernel::readInetSockets(family, static_cast<int>(entry_.proto)))
            if (socket.sourcePort == ends_.local.port && socket.inode != 0)
                if (std::string holder = kernel::describeHolder(fmt::format("socket:[{}]", socket.inode));
                    !holder.empty())
                    return holder;
    return {};
}

/// Binds a new socket as open() will do, and closes it. Without SO_REUSEADDR, so that a datagram socket never gets
/// datagrams of a program that shares the port.
void RestoredInet::requireOpenable(const files::Surroundings& around) const {
    if (given_ || !around.sharesNetwork || !isBound() || (isConnection() && tcpClose_))
        return;
    const std::uint32_t device = deviceOf(entry_);
    // A closed connection without its address is restored as a socket without addresses.
    if (isConnection()) {
        if (state_ != TcpState::Close && lacksAddress(device))
            refuseConnectionBind(EADDRNOTAVAIL, ends_.local);
        return;
    }
    if (lacksAddress(device))
        around.remark(describeLack());
    const UniqueFd socket = newSocket();
    restoreDevice(socket.get(), *entry_.opts);
    restoreEarlyInetOptions(socket.get(), entry_, around.log);
    if (isTcp())
        shareAddress(socket.get());
    const int code = tryBind(socket.get(), device);
    const bool mayShare = !isTcp() && (reusesAddress() || reusesPort());
    if (code == EADDRINUSE && (mayShare || holderOfPort().empty()))
        return;
    if (code != 0)
        refuseBind(code);
}

void RestoredInet::finishOpen(int socket, files::FileOpener& opener) const {
    const uid_t uid = entry_.has_uid != 0 ? entry_.uid : 0;
    const gid_t gid = entry_.has_gid != 0 ? entry_.gid : 0;
    if ((uid != 0 || gid != 0) && ::fchown(socket, uid, gid) != 0)
        opener.log().warn("{}: the owner can't be set to uid {} and gid {}", describe(), uid, gid);
    const KnownOptions fresh = fresh_.of(network(), type());
    restoreInetOptions(socket, entry_, opener.log(), fresh);
    SkOptsEntry options = *entry_.opts;
    // complete() sets SO_REUSEADDR and SO_REUSEPORT.
    options.has_reuseaddr = 0;
    options.has_so_reuseport = 0;
    restoreSocketOptions(socket, options, opener.log(), opener.usernsd(), fresh);
    if (entry_.has_shutdown != 0 && entry_.shutdown != SK_SHUTDOWN__NONE)
        // Shuts the socket down although the call fails without a connection.
        ::shutdown(socket, howOf(entry_.shutdown));
    sys(::fcntl(socket, F_SETFL, static_cast<int>(entry_.flags)), "set flags {:#o} of a socket", entry_.flags);
}

void RestoredInet::restoreReuse(int socket) const {
    setFlag(socket, SO_REUSEADDR, reusesAddress() ? 1 : 0, "SO_REUSEADDR");
    if (hidesSharedPort())
        setFlag(socket, SO_REUSEPORT, 0, "SO_REUSEPORT");
}

bool RestoredInet::reusesAddress() const noexcept {
    return entry_.opts->has_reuseaddr != 0 && entry_.opts->reuseaddr != 0;
}

bool RestoredInet::reusesPort() const noexcept {
    return entry_.opts->has_so_reuseport != 0 && entry_.opts->so_reuseport != 0;
}

/// True if criu has set SO_REUSEPORT to bind the socket, and the dumped socket didn't have it.
bool RestoredInet::hidesSharedPort() const noexcept {
    return portShared_ && (entry_.opts->has_so_reuseport == 0 || entry_.opts->so_reuseport == 0);
}

/// True if the socket gets an address, or if the dumped socket had SO_REUSEADDR or SO_REUSEPORT. Otherwise criu needn't
/// set them for bind(2), and a new socket has neither. A new raw or ping socket has SO_REUSEADDR (INET_PROTOSW_REUSE of
/// Linux).
bool RestoredInet::changesReuse() const noexcept {
    const bool isNewWith =
        type().type == SOCK_RAW || type().protocol == IPPROTO_ICMP || type().protocol == IPPROTO_ICMPV6;
    return isNewWith || isBound() || isConnection() || portShared_ || reusesAddress() || reusesPort();
}

void RestoredInet::complete(files::PlacedFiles& files) {
    const int socket = files.find(id());
    // A connection must wait, because the end of repair mode changes SO_REUSEADDR.
    if (socket >= 0 && changesReuse() && !isInRepair() && !given_)
        restoreReuse(socket);
}

void RestoredInet::endRepair(int socket) const {
    leaveRepairQuietly(socket);
    restoreReuse(socket);
}

void RestoredInet::addFinish(int fd, pie::StepList& steps, pie::RemoteData& data) const {
    if (!isInRepair())
        return;
    const auto set = [&](int level, int option, int value) {
        steps.call(pie::Subject::Other, fd, SYS_setsockopt, fd, level, option, data.put(value), sizeof(value), 0)
            .check = pie::ResultCheck::Any;
    };
    set(IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_OFF);
    set(SOL_SOCKET, SO_REUSEADDR, reusesAddress() ? 1 : 0);
    if (hidesSharedPort())
        set(SOL_SOCKET, SO_REUSEPORT, 0);
}

void RestoredInet::probeWindow(int socket) const {
    leaveRepair(socket);
    restoreReuse(socket);
}

}  // namespace criu::sockets
