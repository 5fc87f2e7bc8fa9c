// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/inet_endpoint.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/printable.hpp"
#include "criu/model/options.hpp"

namespace criu::sockets {

InetEndpoint InetEndpoint::fromImage(int family, std::span<const std::uint32_t> words, std::uint32_t port) {
    InetEndpoint end;
    end.family = family;
    end.port = static_cast<std::uint16_t>(port);
    if (family != AF_INET && family != AF_INET6)
        fail("a socket of family {} isn't one of the Internet", family);
    // Very old images have four words for every address. The first word of an IPv4 address is then the address.
    if (words.size() < end.length() || words.size() > end.words.size())
        fail("an address of family {} has {} words", family, words.size());
    if (port != end.port)
        fail("{} is no port", port);
    std::copy_n(words.begin(), end.length(), end.words.begin());
    return end;
}

InetEndpoint InetEndpoint::fromSocket(const SocketAddress& address) {
    InetEndpoint end;
    end.family = address.generic.sa_family;
    if (end.family == AF_INET) {
        end.words[0] = address.v4.sin_addr.s_addr;
        end.port = ntohs(address.v4.sin_port);
    } else if (end.family == AF_INET6) {
        std::memcpy(end.words.data(), &address.v6.sin6_addr, sizeof(end.words));
        end.port = ntohs(address.v6.sin6_port);
    } else {
        fail("the kernel gave an address of family {}", end.family);
    }
    return end;
}

std::string InetEndpoint::word() const {
    return fmt::format("{}:{}:{}:{}:{}:{}", family, words[0], words[1], words[2], words[3], port);
}

InetEndpoint InetEndpoint::fromWord(const std::string& word) {
    std::array<std::uint32_t, 6> numbers{};
    const char* at = word.data();
    const char* const end = at + word.size();
    for (std::uint32_t& number : numbers) {
        const auto [stop, code] = std::from_chars(at, end, number);
        const bool last = &number == &numbers.back();
        if (code != std::errc() || (last ? stop != end : stop == end || *stop != ':'))
            fail("the journal is damaged: {} is no address", printable(word));
        at = stop + 1;
    }
    return fromImage(static_cast<int>(numbers[0]), std::span(numbers).subspan(1, 4), numbers[5]);
}

bool InetEndpoint::needsScope() const noexcept {
    if (family != AF_INET6)
        return false;
    in6_addr raw{};
    std::memcpy(&raw, words.data(), sizeof(raw));
    return IN6_IS_ADDR_LINKLOCAL(&raw) || IN6_IS_ADDR_MC_LINKLOCAL(&raw) || IN6_IS_ADDR_MC_NODELOCAL(&raw);
}

InetEndpoint InetEndpoint::unmapped() const noexcept {
    if (family != AF_INET6 || words[0] != 0 || words[1] != 0 || words[2] != htonl(0xffff))
        return *this;
    return {AF_INET, {words[3]}, port};
}

const model::InetMapping* InetEndpoint::replaceAddress(std::span<const model::InetMapping> mappings) noexcept {
    constexpr unsigned kWord = 32;
    const bool isMapped = family == AF_INET6 && words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
    const bool unspecified = isMapped ? words[3] == 0 : isAny();
    if (unspecified)
        return nullptr;
    for (const model::InetMapping& mapping : mappings) {
        const bool inLast = isMapped && mapping.family == AF_INET;
        if (mapping.family != family && !inLast)
            continue;
        const std::span<std::uint32_t> own =
            std::span(words).subspan(inLast ? 3 : 0, mapping.family == AF_INET ? 1 : 4);
        std::array<std::uint32_t, 4> masks{};
        for (unsigned at = 0; at < own.size(); ++at) {
            const unsigned bits = std::min(kWord, mapping.bits - std::min(mapping.bits, at * kWord));
            masks[at] = bits == 0 ? 0 : htonl(UINT32_MAX << (kWord - bits));
        }
        bool matches = true;
        for (std::size_t at = 0; at < own.size(); ++at)
            matches = matches && ((own[at] ^ mapping.from[at]) & masks[at]) == 0;
        if (!matches)
            continue;
        for (std::size_t at = 0; at < own.size(); ++at)
            own[at] = (own[at] & ~masks[at]) | (mapping.to[at] & masks[at]);
        return &mapping;
    }
    return nullptr;
}

socklen_t InetEndpoint::store(SocketAddress& out, std::uint32_t scope) const noexcept {
    out = {};
    if (family == AF_INET) {
        out.v4.sin_family = AF_INET;
        out.v4.sin_addr.s_addr = words[0];
        out.v4.sin_port = htons(port);
        return sizeof(out.v4);
    }
    out.v6.sin6_family = AF_INET6;
    std::memcpy(&out.v6.sin6_addr, words.data(), sizeof(words));
    out.v6.sin6_port = htons(port);
    if (needsScope())
        out.v6.sin6_scope_id = scope;
    return sizeof(out.v6);
}

std::string InetEndpoint::address() const {
    char text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(family, words.data(), text, sizeof(text));
    return text;
}

std::string InetEndpoint::text() const {
    return family == AF_INET ? fmt::format("{}:{}", address(), port) : fmt::format("[{}]:{}", address(), port);
}

std::string InetConnection::text() const {
    return fmt::format("{} to {}", local.text(), remote.text());
}

}  // namespace criu::sockets
