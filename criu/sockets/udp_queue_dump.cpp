// SPDX-License-Identifier: GPL-2.0-only
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/sockets/socket_options.hpp"
#include "criu/sockets/udp_queue.hpp"
#include "images/sk-inet.hpp"
#include "images/sk-opts.hpp"

namespace criu::sockets {
namespace {

constexpr unsigned kAtOnce = 16;  ///< maximum number of datagrams that one program peeks at
constexpr std::size_t kLongest = 65536;
constexpr std::size_t kControl = 512;
/// Maximum number of bytes of one queue in images. Larger queues need a larger limit than that of most hosts
/// (net.core.rmem_max).
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// Types of ancillary data that the headers of some C libraries lack.
constexpr int kSolUdp = 17;
constexpr int kUdpGro = 104;
constexpr int kDroppedCount = 40;                     // SO_RXQ_OVFL
constexpr std::array kTimes{29, 35, 37, 63, 64, 65};  // SO_TIMESTAMP, SO_TIMESTAMPNS, SO_TIMESTAMPING: old and new

/// Addresses of the arguments and results of a peek in the process.
struct Slots {
    std::uint64_t vector = 0;
    std::array<std::uint64_t, kAtOnce> names{};
    std::array<std::uint64_t, kAtOnce> data{};
    std::array<std::uint64_t, kAtOnce> controls{};
};

/// Datagram of a queue with its ancillary data.
struct PeekedDatagram {
    std::vector<std::byte> data;
    InetEndpoint source;
    std::uint32_t scope = 0;
    std::optional<InetEndpoint> destination;
    std::optional<unsigned> interface;
    std::optional<std::uint32_t> ttl;
    std::optional<std::uint32_t> tos;
    std::size_t segment = 0;  ///< size of the datagrams that the kernel has merged (UDP_GRO); 0 for one datagram
    bool timed = false;
    std::string reason;  ///< reason why the datagram can't be put back; empty if it can
};

template <typename T>
T valueOf(const cmsghdr& header) {
    T value{};
    std::memcpy(&value, CMSG_DATA(&header), std::min<std::size_t>(sizeof(value), header.cmsg_len - CMSG_LEN(0)));
    return value;
}

InetEndpoint endpointOf(const in_addr& address) {
    SocketAddress all{};
    all.v4.sin_family = AF_INET;
    all.v4.sin_addr = address;
    return InetEndpoint::fromSocket(all);
}

InetEndpoint endpointOf(const in6_addr& address) {
    SocketAddress all{};
    all.v6.sin6_family = AF_INET6;
    all.v6.sin6_addr = address;
    return InetEndpoint::fromSocket(all);
}

/// Takes ancillary data of IPv4. Returns false for an unknown type.
bool takeIpv4(const cmsghdr& header, PeekedDatagram& out) {
    switch (header.cmsg_type) {
        case IP_PKTINFO: {
            const auto info = valueOf<in_pktinfo>(header);
            out.destination = endpointOf(info.ipi_addr);
            out.interface = static_cast<unsigned>(info.ipi_ifindex);
            return true;
        }
        case IP_ORIGDSTADDR:
            out.destination = endpointOf(valueOf<sockaddr_in>(header).sin_addr);
            return true;
        case IP_TTL:
            out.ttl = valueOf<std::uint32_t>(header);
            return true;
        case IP_TOS:
            out.tos = valueOf<std::uint8_t>(header);
            return true;
        default:
            return false;
    }
}

bool takeIpv6(const cmsghdr& header, PeekedDatagram& out) {
    switch (header.cmsg_type) {
        case IPV6_PKTINFO: {
            const auto info = valueOf<in6_pktinfo>(header);
            out.destination = endpointOf(info.ipi6_addr).unmapped();
            out.interface = info.ipi6_ifindex;
            return true;
        }
        case IPV6_ORIGDSTADDR:
            out.destination = endpointOf(valueOf<sockaddr_in6>(header).sin6_addr).unmapped();
            return true;
        case IPV6_HOPLIMIT:
            out.ttl = valueOf<std::uint32_t>(header);
            return true;
        case IPV6_TCLASS:
            out.tos = valueOf<std::uint32_t>(header);
            return true;
        default:
            return false;
    }
}

void takeAncillary(const cmsghdr& header, PeekedDatagram& out) {
    const int level = header.cmsg_level;
    const int type = header.cmsg_type;
    bool known = false;
    if (level == SOL_SOCKET && std::find(kTimes.begin(), kTimes.end(), type) != kTimes.end())
        known = out.timed = true;
    else if (level == SOL_SOCKET)
        known = type == kDroppedCount;
    else if (level == kSolUdp && type == kUdpGro) {
        out.segment = static_cast<std::size_t>(std::max(valueOf<int>(header), 0));
        known = true;
    } else if (level == IPPROTO_IP)
        known = takeIpv4(header, out);
    else if (level == IPPROTO_IPV6)
        known = takeIpv6(header, out);
    if (!known)
        out.reason = fmt::format("the socket asks for ancillary data of level {} and type {}", level, type);
}

/// Returns the datagram in a slot; nullopt if it is longer than `room`. Its true length goes to `length`, because the
/// kernel returns it for MSG_TRUNC.
std::optional<PeekedDatagram> take(pie::RemoteData& data, const Slots& slots, unsigned at, std::size_t room,
                                   std::size_t& length) {
    const auto header = data.local<mmsghdr>(slots.vector + at * sizeof(mmsghdr));
    if (header.msg_len > kLongest || header.msg_hdr.msg_controllen > kControl)
        fail("another process changed its program during the run");
    length = header.msg_len;
    if (length > room)
        return std::nullopt;
    PeekedDatagram out;
    const std::byte* const content = header.msg_len != 0 ? &data.local<std::byte>(slots.data[at]) : nullptr;
    if (content != nullptr)
        out.data.assign(content, content + header.msg_len);
    SocketAddress from{};
    std::memcpy(&from, &data.local<std::array<std::byte, sizeof(sockaddr_in6)>>(slots.names[at]), sizeof(sockaddr_in6));
    out.source = InetEndpoint::fromSocket(from);
    if (from.generic.sa_family == AF_INET6)
        out.scope = from.v6.sin6_scope_id;
    if ((header.msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        out.reason = "the kernel shows only a part of it";
    alignas(cmsghdr) std::array<std::byte, kControl> control =
        data.local<std::array<std::byte, kControl>>(slots.controls[at]);
    msghdr message{};
    message.msg_control = control.data();
    message.msg_controllen = header.msg_hdr.msg_controllen;
    for (cmsghdr* next = CMSG_FIRSTHDR(&message); next != nullptr; next = CMSG_NXTHDR(&message, next)) {
        if (next->cmsg_len < CMSG_LEN(0) ||
            next->cmsg_len >
                control.size() - static_cast<std::size_t>(reinterpret_cast<std::byte*>(next) - control.data()))
            fail("another process changed its program during the run");
        takeAncillary(*next, out);
    }
    return out;
}

/// Adds the steps of a program that peeks at up to `most` datagrams, and returns where it stores them.
Slots compose(const WaitingQueue& queue, std::size_t position, unsigned most, std::size_t room, pie::StepList& steps,
              pie::RemoteData& data) {
    Slots slots;
    std::array<mmsghdr, kAtOnce> headers{};
    for (unsigned i = 0; i < most; ++i) {
        slots.names[i] = data.reserve(sizeof(sockaddr_in6));
        slots.data[i] = data.reserve(room);
        slots.controls[i] = data.reserve(kControl);
        const iovec vector{reinterpret_cast<void*>(slots.data[i]), room};
        msghdr& header = headers[i].msg_hdr;
        header.msg_name = reinterpret_cast<void*>(slots.names[i]);
        header.msg_namelen = sizeof(sockaddr_in6);
        header.msg_iov = reinterpret_cast<iovec*>(data.put(vector));
        header.msg_iovlen = 1;
        header.msg_control = reinterpret_cast<void*>(slots.controls[i]);
        header.msg_controllen = kControl;
    }
    slots.vector = data.put(std::as_bytes(std::span<const mmsghdr>(headers)));
    const auto setOffset = [&](int value) {
        steps.call(pie::Subject::Query, static_cast<std::uint64_t>(queue.fd), SYS_setsockopt, queue.fd, SOL_SOCKET,
                   SO_PEEK_OFF, data.put(value), sizeof(value));
    };
    setOffset(static_cast<int>(position));
    steps
        .call(pie::Subject::Query, static_cast<std::uint64_t>(queue.fd), SYS_recvmmsg, queue.fd, slots.vector, most,
              MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC, 0)
        .check = pie::ResultCheck::Any;
    setOffset(queue.peekOffset);
    return slots;
}

/// Sets the reason of a datagram that a restore can't put back.
void judge(const WaitingQueue& queue, PeekedDatagram& datagram) {
    if (!datagram.reason.empty())
        return;
    if (datagram.source.port == 0)
        datagram.reason = "it has no source port";
    else if (datagram.source.needsScope() || (datagram.destination && datagram.destination->needsScope()))
        datagram.reason = "it has a link-local address";
    else if (datagram.destination && isForMany(*datagram.destination))
        datagram.reason = "it was sent to a multicast or broadcast address, for which the socket asks";
    if (!datagram.interface || !datagram.reason.empty())
        return;
    InetEndpoint wanted = *datagram.destination;
    wanted.port = 0;
    const auto matches = [&](const HostAddress& each) {
        return each.interface == *datagram.interface &&
               (each.address == wanted || (isLoopback(each.address) && isLoopback(wanted)));
    };
    if (queue.hostAddresses == nullptr || std::ranges::none_of(*queue.hostAddresses, matches))
        datagram.reason = "it has come by another interface than that of its address, for which the socket asks";
}

void store(const PeekedDatagram& datagram, std::vector<InetDatagram*>& all, Arena& arena) {
    const std::size_t piece = datagram.segment != 0 ? datagram.segment : std::max<std::size_t>(datagram.data.size(), 1);
    std::span<const std::byte> rest(datagram.data);
    do {
        const std::span<const std::byte> part = rest.first(std::min(piece, rest.size()));
        rest = rest.subspan(part.size());
        auto& out = *arena.make<InetDatagram>();
        out.data = arena.bytes(part);
        out.n_source = datagram.source.length();
        out.source = arena.copy(std::span<const std::uint32_t>(datagram.source.words).first(out.n_source));
        out.port = datagram.source.port;
        if (datagram.destination) {
            out.n_destination = datagram.destination->length();
            out.destination =
                arena.copy(std::span<const std::uint32_t>(datagram.destination->words).first(out.n_destination));
        }
        out.has_ttl = datagram.ttl.has_value();
        out.ttl = datagram.ttl.value_or(0);
        out.has_tos = datagram.tos.has_value();
        out.tos = datagram.tos.value_or(0);
        all.push_back(&out);
    } while (!rest.empty());
}

/// Peeks at the datagrams of one queue.
class Peek {
public:
    Peek(const WaitingQueue& queue, const OwnerProgram& program) : queue_(queue), program_(program) {}

    /// Peeks at all datagrams. Returns the reason if criu can't; empty after a success. Throws Error if the process may
    /// be harmed.
    std::string all() {
        for (bool more = true; more;) {
            const std::size_t first = all_.size();
            if (!some(position_, kAtOnce, std::min(kLongest, queue_.room)))
                return reason_;
            more = all_.size() - first == kAtOnce;
            // UDP isn't locked, so a datagram that is longer than the queue was may have arrived. criu peeks again only
            // at this one, because the kernel shows an empty datagram behind it to one peek only.
            for (std::size_t i = first; i < all_.size(); ++i)
                if (!all_[i].datagram && !again(i))
                    return reason_;
            if (position_ > kMostBytes)
                return fmt::format("more than {} bytes wait", kMostBytes);
        }
        return {};
    }

    [[nodiscard]] std::vector<PeekedDatagram> result() {
        std::vector<PeekedDatagram> taken;
        for (Seen& seen : all_)
            taken.push_back(std::move(*seen.datagram));
        return taken;
    }

private:
    struct Seen {
        std::size_t position = 0;                ///< number of bytes before the datagram
        std::optional<PeekedDatagram> datagram;  ///< nullopt if there was too little room
    };

    /// Adds up to `most` datagrams. Returns false if criu can't peek.
    bool some(std::size_t position, unsigned most, std::size_t room) {
        constexpr std::size_t kPerStep = 4096;  // more than enough for steps, names and headers
        Slots slots;
        std::int64_t count = 0;
        const bool ran = program_(
            queue_.process, most * (room + kControl + 256) + kPerStep,
            [&](pie::StepList& steps, pie::RemoteData& data) {
                slots = compose(queue_, position, most, room, steps, data);
            },
            [&](pie::RemoteData& data, std::uint64_t steps) {
                count = data.local<pie::Step>(steps + sizeof(pie::Step)).result;
                for (unsigned i = 0; i < most && static_cast<std::int64_t>(i) < count; ++i) {
                    std::size_t length = 0;
                    all_.push_back({position, take(data, slots, i, room, length)});
                    position += length;
                }
            });
        position_ = std::max(position_, position);
        if (!ran)
            reason_ = "criu may not run code in the process";
        else if (count < 0 && count != -EAGAIN)
            reason_ = Error(static_cast<int>(-count), "look at its datagrams").what();
        return reason_.empty();
    }

    /// Peeks again at a datagram, with room for the longest one.
    bool again(std::size_t index) {
        const std::size_t count = all_.size();
        if (!some(all_[index].position, 1, kLongest))
            return false;
        if (all_.size() != count + 1 || !all_.back().datagram) {
            reason_ = "another process reads from the queue";
            return false;
        }
        all_[index] = std::move(all_.back());
        all_.pop_back();
        return true;
    }

    const WaitingQueue& queue_;
    const OwnerProgram& program_;
    std::vector<Seen> all_;
    std::size_t position_ = 0;  ///< number of bytes of all datagrams seen
    std::string reason_;
};

void dropAll(const WaitingQueue& queue, std::string_view reason, Log& log) {
    log.loss(Loss::Datagrams, "Datagrams that wait in {} are dropped: {}", queue.shown, reason);
}

}  // namespace

WaitingQueue examineQueue(const files::OpenFd& file, InetSkEntry& entry, std::size_t room) {
    WaitingQueue queue{&entry, file.pid, file.fd, file.describe(), room, -1, {}, nullptr};
    if (entry.type != SOCK_DGRAM || entry.proto != IPPROTO_UDP) {
        queue.reason = "the socket isn't a UDP socket";
        return queue;
    }
    if (file.inFlight) {
        queue.reason = "the socket is only in flight";
        return queue;
    }
    const InetEndpoint local =
        InetEndpoint::fromImage(static_cast<int>(entry.family), {entry.src_addr, entry.n_src_addr}, entry.src_port);
    pollfd errors{file.copy.get(), 0, 0};
    if (showsDestinationPort(entry) && (entry.opts->reuseaddr != 0 || entry.opts->so_reuseport != 0))
        queue.reason = "the socket asks for the port of its datagrams (IP_RECVORIGDSTADDR), which others may share";
    else if (isForMany(local.unmapped()))
        queue.reason = "the socket is bound to a multicast or broadcast address";
    else if (local.needsScope())
        queue.reason = "the socket is bound to a link-local address";
    else if (::poll(&errors, 1, 0) > 0 && (errors.revents & POLLERR) != 0)
        queue.reason = "the socket has a pending error, which criu would take";
    queue.peekOffset = readOption(file.copy.get(), SOL_SOCKET, SO_PEEK_OFF, "SO_PEEK_OFF");
    return queue;
}

void dumpQueue(const WaitingQueue& queue, const OwnerProgram& program, bool compat, Arena& arena, Log& log) {
    if (!queue.reason.empty())
        return dropAll(queue, queue.reason, log);
    if (compat)
        return dropAll(queue, "CRIU 4.2 can't restore them", log);
    Peek peek(queue, program);
    if (const std::string reason = peek.all(); !reason.empty())
        return dropAll(queue, reason, log);
    std::vector<PeekedDatagram> all = peek.result();
    std::vector<InetDatagram*> stored;
    std::size_t dropped = 0;
    std::string reason;
    bool timed = false;
    for (PeekedDatagram& datagram : all) {
        judge(queue, datagram);
        timed = timed || datagram.timed;
        if (datagram.reason.empty()) {
            store(datagram, stored, arena);
            continue;
        }
        ++dropped;
        reason = datagram.reason;
    }
    if (dropped != 0)
        log.loss(Loss::Datagrams, "{} of {} datagrams that wait in {} are dropped: {}", dropped, all.size(),
                 queue.shown, reason);
    if (timed)
        log.loss(Loss::Datagrams, "Datagrams that wait in {} will have other times of arrival", queue.shown);
    queue.entry->n_datagrams = stored.size();
    queue.entry->datagrams = arena.copy(std::span<InetDatagram* const>(stored));
}

}  // namespace criu::sockets
