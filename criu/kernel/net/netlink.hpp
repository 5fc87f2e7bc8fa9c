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

/// Messages of netlink(7), composed, sent and taken apart by libnl-3. What they mean is known to whoever asks: links,
/// sock_diag, conntrack.
namespace criu::kernel {

/// A netlink message in the making: header, fixed part, attributes. Throws Error if it becomes larger than 64 KiB,
/// which is more than any request holds.
class NetlinkMessage {
public:
    template <typename Fixed>
    NetlinkMessage(std::uint16_t type, std::uint16_t flags, const Fixed& fixed) : NetlinkMessage(type, flags) {
        append(&fixed, sizeof(fixed));
    }

    /// Adds bytes as they are, with the padding that netlink wants behind them.
    void append(const void* data, std::size_t size);
    void attribute(std::uint16_t type, const void* data, std::size_t size);
    void attribute(std::uint16_t type, std::string_view text) { attribute(type, text.data(), text.size()); }
    template <typename Number>
    void number(std::uint16_t type, Number value) {
        attribute(type, &value, sizeof(value));
    }
    /// Attributes that `fill` adds become the content of this one. Without content the attribute is left out.
    void nested(std::uint16_t type, const std::function<void()>& fill);

    /// The message as it is so far, with its header.
    [[nodiscard]] std::span<const std::byte> bytes() const;

private:
    friend class NetlinkSocket;
    struct Free {
        void operator()(nl_msg* message) const noexcept;
    };
    NetlinkMessage(std::uint16_t type, std::uint16_t flags);

    std::unique_ptr<nl_msg, Free> message_;
};

/// A connection to the kernel, in the network namespace of the thread that makes it.
class NetlinkSocket {
public:
    explicit NetlinkSocket(int protocol);

    using Visitor = std::function<void(const nlmsghdr& header, std::span<const std::byte> payload)>;

    /// Sends, hands every answer to `visit`, and returns 0 when the kernel is done, or the (positive) errno it answered
    /// with. The message must ask for an acknowledgement or a dump. A list that changed while the kernel was listing
    /// it may lack something: it is asked for again. Throws Error if the kernel can't be talked to.
    int request(NetlinkMessage& message, const Visitor& visit = nullptr);

private:
    struct Free {
        void operator()(nl_sock* socket) const noexcept;
    };
    std::unique_ptr<nl_sock, Free> socket_;
};

/// Visits each attribute of a list: type (without the flag bits) and value. A cut-off attribute ends the list.
void forEachAttribute(std::span<const std::byte> attributes,
                      const std::function<void(std::uint16_t type, std::span<const std::byte> value)>& visit);

/// Whether a list of attributes has one of this type.
[[nodiscard]] bool hasAttribute(std::span<const std::byte> attributes, std::uint16_t type) noexcept;

}  // namespace criu::kernel
