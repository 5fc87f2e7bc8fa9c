// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

/// A netlink message in the making: header, fixed part, attributes.
class NetlinkMessage {
public:
    template <typename Fixed>
    NetlinkMessage(std::uint16_t type, std::uint16_t flags, const Fixed& fixed) {
        nlmsghdr header{};
        header.nlmsg_type = type;
        header.nlmsg_flags = flags;
        append(&header, sizeof(header));
        append(&fixed, sizeof(fixed));
    }

    void append(const void* data, std::size_t size);
    void attribute(std::uint16_t type, const void* data, std::size_t size);
    void attribute(std::uint16_t type, std::string_view text) { attribute(type, text.data(), text.size()); }
    template <typename Number>
    void number(std::uint16_t type, Number value) {
        attribute(type, &value, sizeof(value));
    }
    /// Attributes that `fill` adds become the content of this one.
    void nested(std::uint16_t type, const std::function<void()>& fill);

    /// With its length filled in.
    [[nodiscard]] std::span<const std::byte> finished();

private:
    std::vector<std::byte> bytes_;
};

class NetlinkSocket {
public:
    explicit NetlinkSocket(int protocol);

    using Visitor = std::function<void(const nlmsghdr& header, std::span<const std::byte> payload)>;

    /// Sends, hands every answer to `visit`, and returns 0 when the kernel is done, or the (positive) errno it answered
    /// with. The message must ask for an acknowledgement or a dump.
    int request(NetlinkMessage& message, const Visitor& visit = nullptr);

private:
    UniqueFd socket_;
};

/// Visits each attribute of a list: type (without the flag bits) and value. A cut-off attribute ends the list.
void forEachAttribute(std::span<const std::byte> attributes,
                      const std::function<void(std::uint16_t type, std::span<const std::byte> value)>& visit);

/// Whether a list of attributes has one of this type.
[[nodiscard]] bool hasAttribute(std::span<const std::byte> attributes, std::uint16_t type) noexcept;

}  // namespace criu::kernel
