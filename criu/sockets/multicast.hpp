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

/// Multicast groups that sockets have joined (RFC 3678). No interface lists those of a socket; but those of all of
/// a network are in /proc, and of each a socket can be asked.
namespace criu::sockets {

/// A group that somebody of this network has joined.
struct JoinedGroup {
    std::string interface;
    InetEndpoint group;
};

/// The lines of /proc/net/igmp (IPv4) or /proc/net/igmp6.
std::vector<JoinedGroup> parseIgmp(std::string_view text);
std::vector<JoinedGroup> parseIgmp6(std::string_view text);

/// Dump half.
class MembershipsDump {
public:
    /// Adds what a socket has joined. The calling thread is in its network namespace, `network`.
    void read(std::uint32_t network, int socket, int family, InetSkEntry& out, Arena& arena);

private:
    struct Known {
        JoinedGroup joined;
        unsigned index = 0;  ///< of the interface
    };
    const std::vector<Known>& load(std::uint32_t network);

    std::map<std::uint32_t, std::vector<Known>> all_;  ///< by network namespaces
};

/// Joins them again.
void restoreMemberships(int socket, const InetSkEntry& entry);

}  // namespace criu::sockets
