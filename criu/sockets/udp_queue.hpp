// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/sockets/host_addresses.hpp"
#include "criu/sockets/inet_endpoint.hpp"
#include "criu/sockets/owner_program.hpp"
#include "images/sk-inet.fwd.hpp"

namespace criu {
class Arena;
class Log;
}  // namespace criu

namespace criu::model {
struct InetMapping;
}

namespace criu::files {
struct OpenFd;
}  // namespace criu::files

/// Datagrams in the queues of UDP sockets.
namespace criu::sockets {

/// UDP socket with datagrams in its queue.
struct WaitingQueue {
    InetSkEntry* entry = nullptr;
    HostPid process;
    int fd = -1;  ///< descriptor number in the process
    std::string shown;
    std::size_t room = 0;  ///< bytes of kernel memory in the queue: the datagrams together aren't longer
    int peekOffset = -1;   ///< the socket's SO_PEEK_OFF
    std::string reason;    ///< reason why the queue can't be dumped; empty if it can
    /// Addresses of the socket's network namespace, for a socket that showsInterface(); else null.
    const std::vector<HostAddress>* hostAddresses = nullptr;
};

/// Examines the socket by its descriptor. Must run in the socket's network namespace.
[[nodiscard]] WaitingQueue examineQueue(const files::OpenFd& file, InetSkEntry& entry, std::size_t room);

/// Copies the datagrams to the entry, and removes none from the queue. The socket's process peeks at them with
/// SO_PEEK_OFF (socket(7)), and sets this option back, so the change can't outlive criu. Warns of datagrams that a
/// restore can't put back. `compat`: true with --compat, whose images contain no datagrams. `arena`: owner of the
/// copies.
void dumpQueue(const WaitingQueue& queue, const OwnerProgram& program, bool compat, Arena& arena, Log& log);

/// Address of a restored socket whose queue criu fills.
struct QueuePlace {
    InetEndpoint local;                           ///< address to which the socket is bound
    InetEndpoint dumped;                          ///< local address in the images
    std::uint32_t device = 0;                     ///< index of the socket's interface; 0 for none
    std::span<const model::InetMapping> inetMap;  ///< --inet-map
};

/// Lets only packets with the passing mark into a socket, so that other programs can't send to it while criu fills its
/// queue. Create it before bind(2). The destructor removes the filter.
class PassingFilter {
public:
    explicit PassingFilter(int socket);
    ~PassingFilter();
    PassingFilter(const PassingFilter&) = delete;
    PassingFilter& operator=(const PassingFilter&) = delete;

private:
    int socket_;
};

/// Puts the datagrams of the images into the queue of a restored socket: criu sends them to the socket as packets with
/// their dumped source. The socket mustn't be connected, or have filters other than PassingFilter. Afterwards,
/// SO_RCVBUF may be larger. Warns of lost datagrams; the first one that doesn't arrive ends the work.
void refillQueue(int socket, const InetSkEntry& entry, const QueuePlace& place, Log& log);

/// Returns true if the socket shows the port to which a datagram was sent (IP_RECVORIGDSTADDR). Then refillQueue()
/// needs the socket's own port. For other sockets, a port that no other socket has is better: several sockets may share
/// the own port.
[[nodiscard]] bool showsDestinationPort(const InetSkEntry& entry) noexcept;

/// Returns true if the socket shows the interface by which a datagram has come (IP_PKTINFO).
[[nodiscard]] bool showsInterface(const InetSkEntry& entry) noexcept;

/// Takes address and interface from a UDP socket that is bound to a port that the kernel has chosen. The socket can
/// then be bound again, and keeps its queue (__udp_disconnect() in net/ipv4/udp.c).
void unbind(int socket);

}  // namespace criu::sockets
