// SPDX-License-Identifier: GPL-2.0-only
// Parsers for socket data of the kernel and of iptables. The first byte chooses one, the rest is its input. They may
// throw criu::Error and nothing else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/kernel/net/inet_diag.hpp"
#include "criu/kernel/net/netlink_diag.hpp"
#include "criu/kernel/net/packet_diag.hpp"
#include "criu/sockets/iptables_rule.hpp"
#include "criu/sockets/multicast.hpp"

namespace {

using namespace criu;

constexpr void (*kReaders[])(std::span<const std::byte>, std::string_view) = {
    [](std::span<const std::byte> bytes, std::string_view) { static_cast<void>(kernel::parseInetSocket(bytes)); },
    [](std::span<const std::byte> bytes, std::string_view) { static_cast<void>(kernel::parseNetlinkSocket(bytes)); },
    [](std::span<const std::byte> bytes, std::string_view) { static_cast<void>(kernel::parsePacketSocket(bytes)); },
    [](std::span<const std::byte>, std::string_view text) { static_cast<void>(sockets::parseIgmp(text)); },
    [](std::span<const std::byte>, std::string_view text) { static_cast<void>(sockets::parseIgmp6(text)); },
    [](std::span<const std::byte>, std::string_view text) {
        const sockets::InetConnection connection;
        static_cast<void>(sockets::iptablesDeletions({&connection, 1}, AF_INET, text));
        static_cast<void>(sockets::iptablesDeletions({&connection, 1}, AF_INET6, text));
    },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::span<const std::byte> bytes = std::as_bytes(std::span(data + 1, size - 1));
    try {
        kReaders[data[0] % std::size(kReaders)](bytes, {reinterpret_cast<const char*>(data + 1), size - 1});
    } catch (const Error&) {
        // The parser may refuse its input.
    }
    return 0;
}
