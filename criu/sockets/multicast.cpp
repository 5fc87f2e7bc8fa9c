// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/multicast.hpp"

#include <net/if.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/hex.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::sockets {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view nextWord(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    line.remove_prefix(word.size());
    return word;
}

std::string_view nextLine(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

/// Parses a number of eight hexadecimal digits.
bool parseNumber(std::string_view word, std::uint32_t& out) {
    return word.size() == 2 * sizeof(out) &&
           std::from_chars(word.data(), word.data() + word.size(), out, 16).ptr == word.data() + word.size();
}

int levelOf(int family) {
    return family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
}

void storeAddress(const InetEndpoint& from, sockaddr_storage& to) {
    SocketAddress address{};
    const socklen_t length = from.store(address);
    std::memcpy(&to, &address, length);
}

InetEndpoint endpointOf(const sockaddr_storage& from) {
    SocketAddress address{};
    address.room = from;
    return InetEndpoint::fromSocket(address);
}

/// Filter of a multicast group (struct group_filter, RFC 3678), with memory for more source addresses than the struct
/// has.
struct Filter {
    static constexpr std::uint32_t kSources = 128;
    group_filter head{};
    sockaddr_storage more[kSources]{};
};

std::span<const std::byte> bytesOfAddress(const InetEndpoint& end) {
    return std::as_bytes(std::span(end.words)).first(end.length() * sizeof(std::uint32_t));
}

InetEndpoint endpointFrom(int family, const ProtobufCBinaryData& bytes) {
    InetEndpoint end;
    end.family = family;
    if (bytes.len != end.length() * sizeof(std::uint32_t))
        fail("a multicast address has {} bytes", bytes.len);
    std::memcpy(end.words.data(), bytes.data, bytes.len);
    return end;
}

}  // namespace

std::vector<JoinedGroup> parseIgmp(std::string_view text) {
    std::vector<JoinedGroup> found;
    std::string interface;
    nextLine(text);  // skips the heading
    while (!text.empty()) {
        std::string_view line = nextLine(text);
        const bool group = !line.empty() && line.front() == '\t';
        const std::string_view word = nextWord(line);
        JoinedGroup joined{interface, {}};
        if (!group)
            interface = nextWord(line);
        else if (parseNumber(word, joined.group.words[0]))  // reads the kernel's __be32 as a number
            found.push_back(std::move(joined));
    }
    return found;
}

std::vector<JoinedGroup> parseIgmp6(std::string_view text) {
    std::vector<JoinedGroup> found;
    while (!text.empty()) {
        std::string_view line = nextLine(text);
        nextWord(line);
        JoinedGroup joined{std::string(nextWord(line)), {}};
        joined.group.family = AF_INET6;
        if (parseHex(nextWord(line), std::as_writable_bytes(std::span(joined.group.words))))
            found.push_back(std::move(joined));
    }
    return found;
}

const std::vector<MembershipsDump::Known>& MembershipsDump::load(std::uint32_t network) {
    const auto [of, fresh] = all_.try_emplace(network);
    std::vector<Known>& all = of->second;
    if (!fresh)
        return all;
    const auto add = [&all](const char* path, std::vector<JoinedGroup> (*parse)(std::string_view)) {
        std::string text;
        try {
            text = kernel::ProcDir().readFile(path);
        } catch (const Error& error) {
            if (error.code() != ENOENT)
                throw;  // igmp6 is missing without IPv6
        }
        for (JoinedGroup& joined : parse(text)) {
            const unsigned index = ::if_nametoindex(joined.interface.c_str());
            if (index != 0)
                all.push_back({std::move(joined), index});
        }
    };
    // Reads the files of the calling thread, not of the process, because other threads may be in different network
    // namespaces.
    add("thread-self/net/igmp", parseIgmp);
    add("thread-self/net/igmp6", parseIgmp6);
    return all;
}

void MembershipsDump::read(std::uint32_t network, int socket, int family, InetSkEntry& out, Arena& arena) {
    std::vector<InetMembership*> found;
    for (const Known& known : load(network)) {
        // Skips IPv4 groups for IPv6 sockets, because the kernel doesn't show such memberships.
        if (known.joined.group.family != family)
            continue;
        Filter filter;
        filter.head.gf_interface = known.index;
        filter.head.gf_numsrc = Filter::kSources;
        storeAddress(known.joined.group, filter.head.gf_group);
        socklen_t size = sizeof(filter);
        if (::getsockopt(socket, levelOf(family), MCAST_MSFILTER, &filter, &size) != 0) {
            if (errno == EADDRNOTAVAIL || errno == ENODEV || errno == EINVAL)
                continue;  // the socket isn't in this group
            failErrno("read the multicast groups of a socket");
        }
        if (filter.head.gf_numsrc > Filter::kSources)
            fail("a socket has {} multicast sources, more than the {} that can be dumped", filter.head.gf_numsrc,
                 Filter::kSources);
        auto& member = *arena.make<InetMembership>();
        member.interface = arena.string(known.joined.interface);
        member.group = arena.bytes(bytesOfAddress(known.joined.group));
        member.has_include = member.include = filter.head.gf_fmode == MCAST_INCLUDE;
        member.n_sources = filter.head.gf_numsrc;
        member.sources = arena.array<ProtobufCBinaryData>(member.n_sources);
        const sockaddr_storage* const sources = filter.head.gf_slist;
        for (std::size_t i = 0; i < member.n_sources; ++i)
            member.sources[i] = arena.bytes(bytesOfAddress(endpointOf(sources[i])));
        found.push_back(&member);
    }
    out.n_memberships = found.size();
    out.memberships = arena.copy(std::span<InetMembership* const>(found));
}

void restoreMemberships(int socket, const InetSkEntry& entry) {
    const int family = static_cast<int>(entry.family);
    for (const InetMembership* const member : list(entry.memberships, entry.n_memberships)) {
        const unsigned index = ::if_nametoindex(member->interface);
        const InetEndpoint group = endpointFrom(family, member->group);
        if (index == 0)
            failErrno("join multicast group {} on interface {}", group.address(), member->interface);
        const auto set = [&](int option, const void* value, socklen_t size) {
            sys(::setsockopt(socket, levelOf(family), option, value, size), "join multicast group {} on interface {}",
                group.address(), member->interface);
        };
        const bool include = member->has_include != 0 && member->include != 0;
        if (!include) {
            group_req all{};
            all.gr_interface = index;
            storeAddress(group, all.gr_group);
            set(MCAST_JOIN_GROUP, &all, sizeof(all));
        }
        for (const ProtobufCBinaryData& source : list(member->sources, member->n_sources)) {
            group_source_req one{};
            one.gsr_interface = index;
            storeAddress(group, one.gsr_group);
            storeAddress(endpointFrom(family, source), one.gsr_source);
            set(include ? MCAST_JOIN_SOURCE_GROUP : MCAST_BLOCK_SOURCE, &one, sizeof(one));
        }
    }
}

}  // namespace criu::sockets
