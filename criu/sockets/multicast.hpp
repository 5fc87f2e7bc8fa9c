// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "criu/image/arena.hpp"
#include "criu/sockets/inet_endpoint.hpp"
#include "images/sk-inet.hpp"

/// Multicast groups of sockets (RFC 3678). The kernel doesn't list the groups of a socket. /proc lists all groups of a
/// network namespace. For each of these groups, getsockopt(2) shows whether the socket has joined it.
namespace criu::sockets {

/// Multicast group that any socket of a network namespace has joined.
struct JoinedGroup {
    std::string interface;
    InetEndpoint group;
};

/// Parses the text of /proc/net/igmp, which lists IPv4 groups. parseIgmp6() parses /proc/net/igmp6.
std::vector<JoinedGroup> parseIgmp(std::string_view text);
std::vector<JoinedGroup> parseIgmp6(std::string_view text);

/// Dumps the multicast groups of sockets.
class MembershipsDump {
public:
    /// Adds the multicast groups of a socket to its image entry. The calling thread must be in the socket's network
    /// namespace, which has the id `network`.
    void read(std::uint32_t network, int socket, int family, InetSkEntry& out, Arena& arena);

private:
    struct Known {
        JoinedGroup joined;
        unsigned index = 0;  ///< interface index
    };
    const std::vector<Known>& load(std::uint32_t network);

    std::map<std::uint32_t, std::vector<Known>> all_;  ///< groups of each network namespace; the key is a namespace id
};

/// Joins the multicast groups that the image entry lists.
void restoreMemberships(int socket, const InetSkEntry& entry);

}  // namespace criu::sockets
