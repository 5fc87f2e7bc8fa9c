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

/// Messages and sockets of netlink(7), by libnl-3. The content of messages is the task of other files: rtnl links,
/// sock_diag and conntrack.
namespace criu::kernel {

/// Netlink request under construction. It consists of a header, a fixed part, and attributes. Throws Error above 64
/// KiB; no request of criu reaches this size.
class NetlinkMessage {
public:
    template <typename Fixed>
    NetlinkMessage(std::uint16_t type, std::uint16_t flags, const Fixed& fixed) : NetlinkMessage(type, flags) {
        append(&fixed, sizeof(fixed));
    }

    /// Appends bytes and the padding that netlink requires.
    void append(const void* data, std::size_t size);
    void attribute(std::uint16_t type, const void* data, std::size_t size);
    void attribute(std::uint16_t type, std::string_view text) { attribute(type, text.data(), text.size()); }
    template <typename Number>
    void number(std::uint16_t type, Number value) {
        attribute(type, &value, sizeof(value));
    }
    /// Adds an attribute whose value is the list of attributes that `fill` adds. Adds nothing if `fill` adds none.
    void nested(std::uint16_t type, const std::function<void()>& fill);

    /// Returns the message with its header, as far as it has been composed.
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

    /// Sends the request and passes every message of the kernel to `visit`. Returns 0, or the positive errno that the
    /// kernel reports. The request must have NLM_F_ACK or NLM_F_DUMP. If the kernel reports that a list has changed
    /// during the read, reads the list again. Throws Error if the communication fails.
    int request(NetlinkMessage& message, const Visitor& visit = nullptr);

private:
    struct Free {
        void operator()(nl_sock* socket) const noexcept;
    };
    std::unique_ptr<nl_sock, Free> socket_;
};

/// Calls `visit` with each attribute of a list: its type without flag bits, and its value. Stops at a truncated
/// attribute.
void forEachAttribute(std::span<const std::byte> attributes,
                      const std::function<void(std::uint16_t type, std::span<const std::byte> value)>& visit);

/// Returns true if a list has an attribute of this type.
[[nodiscard]] bool hasAttribute(std::span<const std::byte> attributes, std::uint16_t type) noexcept;

}  // namespace criu::kernel
