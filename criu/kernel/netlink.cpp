// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/netlink.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "criu/base/error.hpp"

namespace criu::kernel {

void NetlinkMessage::append(const void* data, std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + NLMSG_ALIGN(size));
    if (size != 0)
        std::memcpy(bytes_.data() + at, data, size);
}

void NetlinkMessage::attribute(std::uint16_t type, const void* data, std::size_t size) {
    const nlattr header{static_cast<std::uint16_t>(NLA_HDRLEN + size), type};
    append(&header, sizeof(header));
    append(data, size);
}

void NetlinkMessage::nested(std::uint16_t type, const std::function<void()>& fill) {
    const std::size_t at = bytes_.size();
    attribute(type, nullptr, 0);
    fill();
    const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &length, sizeof(length));
}

std::span<const std::byte> NetlinkMessage::finished() {
    const auto length = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &length, sizeof(length));
    return bytes_;
}

NetlinkSocket::NetlinkSocket(int protocol)
    : socket_(sys(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), "create a netlink socket")) {}

int NetlinkSocket::request(NetlinkMessage& message, const Visitor& visit) {
    const auto out = message.finished();
    sys(::send(socket_.get(), out.data(), out.size(), 0), "send a netlink request");
    alignas(nlmsghdr) std::array<std::byte, 32768> block;
    for (;;) {
        const ssize_t got = ::recv(socket_.get(), block.data(), block.size(), 0);
        if (got < 0 && errno == EINTR)
            continue;
        auto left = static_cast<std::size_t>(sys(got, "receive a netlink answer"));
        const auto* header = reinterpret_cast<const nlmsghdr*>(block.data());
        for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
            const auto* const payload = static_cast<const std::byte*>(NLMSG_DATA(header));
            const std::size_t size = header->nlmsg_len - NLMSG_HDRLEN;
            if (header->nlmsg_type == NLMSG_ERROR || header->nlmsg_type == NLMSG_DONE) {
                int code = 0;
                if (size >= sizeof(code))
                    std::memcpy(&code, payload, sizeof(code));
                return -code;
            }
            if (visit)
                visit(*header, {payload, size});
        }
    }
}

void forEachAttribute(std::span<const std::byte> attributes,
                      const std::function<void(std::uint16_t, std::span<const std::byte>)>& visit) {
    nlattr header{};
    while (attributes.size() >= sizeof(header)) {
        std::memcpy(&header, attributes.data(), sizeof(header));
        if (header.nla_len < sizeof(header) || header.nla_len > attributes.size())
            return;
        visit(static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK),
              attributes.subspan(sizeof(header), header.nla_len - sizeof(header)));
        attributes = attributes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), attributes.size()));
    }
}

bool hasAttribute(std::span<const std::byte> attributes, std::uint16_t type) noexcept {
    bool found = false;
    forEachAttribute(attributes,
                     [&](std::uint16_t other, std::span<const std::byte>) { found = found || other == type; });
    return found;
}

}  // namespace criu::kernel
