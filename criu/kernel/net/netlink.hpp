// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

struct nl_msg;
struct nl_sock;

/// Messages of netlink(7), by libnl-3. Callers interpret them: rtnl links, sock_diag, conntrack.
namespace criu::kernel {

/// Netlink message under construction: header, fixed part, attributes. Throws Error beyond 64 KiB, which no request
/// reaches.
class NetlinkMessage {
public:
    template <typename Fixed>
    NetlinkMessage(std::uint16_t type, std::uint16_t flags, const Fixed& fixed) : NetlinkMessage(type, flags) {
        append(&fixed, sizeof(fixed));
    }

    /// Appends bytes with netlink's padding.
    void append(const void* data, std::size_t size);
    void attribute(std::uint16_t type, const void* data, std::size_t size);
    void attribute(std::uint16_t type, std::string_view text) { attribute(type, text.data(), text.size()); }
    template <typename Number>
    void number(std::uint16_t type, Number value) {
        attribute(type, &value, sizeof(value));
    }
    /// Adds an attribute whose content is the attributes that `fill` adds. Omits it if `fill` adds none.
    void nested(std::uint16_t type, const std::function<void()>& fill);

    /// Returns the current message with its header.
    [[nodiscard]] std::span<const std::byte> bytes() const;

private:
    friend class NetlinkSocket;
    struct Free {
        void operator()(nl_msg* message) const noexcept;
    };
    NetlinkMessage(std::uint16_t type, std::uint16_t flags);

    std::unique_ptr<nl_msg, Free> message_;
};

/// Netlink socket in the network namespace of the creating thread.
class NetlinkSocket {
public:
    explicit NetlinkSocket(int protocol);

    using Visitor = std::function<void(const nlmsghdr& header, std::span<const std::byte> payload)>;

    /// Sends the message, passes every answer to `visit`, and returns 0, or the positive errno that the kernel
    /// answered with. The message must request an acknowledgement or a dump.
    /// Repeats a dump that the kernel reports as changed while it ran. Throws Error if the communication fails.
    int request(NetlinkMessage& message, const Visitor& visit = nullptr);

private:
    struct Free {
        void operator()(nl_sock* socket) const noexcept;
    };
    std::unique_ptr<nl_sock, Free> socket_;
};

/// Visits each attribute of a list with its type (without flag bits) and value. Stops at a truncated attribute.
void forEachAttribute(std::span<const std::byte> attributes,
                      const std::function<void(std::uint16_t type, std::span<const std::byte> value)>& visit);

/// Returns true if a list has an attribute of this type.
[[nodiscard]] bool hasAttribute(std::span<const std::byte> attributes, std::uint16_t type) noexcept;

}  // namespace criu::kernel
