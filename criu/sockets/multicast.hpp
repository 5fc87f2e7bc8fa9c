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

/// Multicast groups of sockets (RFC 3678). The kernel doesn't list the groups of a socket. But /proc lists all groups
/// of a network namespace, and getsockopt(2) tells for each whether the socket has joined it.
namespace criu::sockets {

/// A group that a socket of this network namespace has joined.
struct JoinedGroup {
    std::string interface;
    InetEndpoint group;
};

/// Parse /proc/net/igmp (IPv4) and /proc/net/igmp6.
std::vector<JoinedGroup> parseIgmp(std::string_view text);
std::vector<JoinedGroup> parseIgmp6(std::string_view text);

/// Dump half of memberships.
class MembershipsDump {
public:
    /// Adds the groups of a socket. The calling thread must be in its network namespace, `network`.
    void read(std::uint32_t network, int socket, int family, InetSkEntry& out, Arena& arena);

private:
    struct Known {
        JoinedGroup joined;
        unsigned index = 0;  ///< interface index
    };
    const std::vector<Known>& load(std::uint32_t network);

    std::map<std::uint32_t, std::vector<Known>> all_;  ///< by network namespace
};

/// Joins the groups of the images.
void restoreMemberships(int socket, const InetSkEntry& entry);

}  // namespace criu::sockets
