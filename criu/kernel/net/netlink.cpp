// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/netlink.hpp"

#include <netlink/errno.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <cstring>
#include <exception>
#include <vector>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

/// Size of the buffer for one request, in bytes.
constexpr std::size_t kMessageSize = std::size_t{64} << 10;
/// Size of the receive buffer. A large buffer needs fewer calls, because the kernel puts up to 32 KiB of a list into
/// one message (netlink_dump() in net/netlink/af_netlink.c, Linux 4.6).
constexpr std::size_t kAnswerSize = std::size_t{32} << 10;

/// Throws Error if a function of libnl fails. The negative results of libnl aren't errno values.
template <typename... Args>
void check(int result, Located<Args...> what, Args&&... args) {
    if (result < 0)
        throw Error(0, fmt::format(what.text, std::forward<Args>(args)...), what.where).addHint(::nl_geterror(result));
}

/// Maximal number of attempts to read a list. The kernel marks a list that changed during the read (NLM_F_DUMP_INTR,
/// Linux 3.1), and criu then reads it again.
constexpr int kTries = 20;

/// State that libnl's callbacks store for one request. `failure`: exception of a callback; stored here, because an
/// exception can't pass through libnl's C code.
struct Reply {
    std::vector<std::byte> messages;  ///< complete messages of the kernel, one after another
    int code = 0;
    bool done = false;
    bool interrupted = false;
    std::exception_ptr failure;
};

int onMessage(nl_msg* message, void* argument) {
    auto& reply = *static_cast<Reply*>(argument);
    const nlmsghdr* const header = ::nlmsg_hdr(message);
    try {
        const std::size_t at = reply.messages.size();
        reply.messages.resize(at + NLMSG_ALIGN(header->nlmsg_len));
        std::memcpy(&reply.messages[at], header, header->nlmsg_len);
        return NL_OK;
    } catch (...) {
        reply.failure = std::current_exception();
        return NL_STOP;
    }
}

/// Reads the error code in the message that ends a list; 0 if the kernel reports no error.
int onEnd(nl_msg* message, void* argument) {
    auto& reply = *static_cast<Reply*>(argument);
    const nlmsghdr* const header = ::nlmsg_hdr(message);
    int code = 0;
    if (::nlmsg_datalen(header) >= static_cast<int>(sizeof(code)))
        std::memcpy(&code, ::nlmsg_data(header), sizeof(code));
    reply.code = -code;
    reply.done = true;
    return NL_STOP;
}

int onAcknowledgement(nl_msg*, void* argument) {
    static_cast<Reply*>(argument)->done = true;
    return NL_STOP;
}

int onError(sockaddr_nl*, nlmsgerr* error, void* argument) {
    auto& reply = *static_cast<Reply*>(argument);
    reply.code = -error->error;
    reply.done = true;
    return NL_STOP;
}

int onInterruption(nl_msg*, void* argument) {
    static_cast<Reply*>(argument)->interrupted = true;
    return NL_OK;
}

struct FreeCallbacks {
    void operator()(nl_cb* callbacks) const noexcept { ::nl_cb_put(callbacks); }
};

/// Sends a request and collects all messages with which the kernel responds.
Reply exchange(nl_sock* socket, nl_msg* request) {
    const std::unique_ptr<nl_cb, FreeCallbacks> callbacks(::nl_cb_alloc(NL_CB_DEFAULT));
    if (!callbacks)
        failWith(ENOMEM, "send a netlink request");
    Reply reply;
    ::nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, onMessage, &reply);
    ::nl_cb_set(callbacks.get(), NL_CB_FINISH, NL_CB_CUSTOM, onEnd, &reply);
    ::nl_cb_set(callbacks.get(), NL_CB_ACK, NL_CB_CUSTOM, onAcknowledgement, &reply);
    ::nl_cb_set(callbacks.get(), NL_CB_DUMP_INTR, NL_CB_CUSTOM, onInterruption, &reply);
    ::nl_cb_err(callbacks.get(), NL_CB_CUSTOM, onError, &reply);

    ::nlmsg_hdr(request)->nlmsg_seq = NL_AUTO_SEQ;  // libnl chooses a new sequence number for each attempt
    ::nl_complete_msg(socket, request);
    check(::nl_send(socket, request), "send a netlink request");
    while (!reply.done) {
        const int result = ::nl_recvmsgs(socket, callbacks.get());
        if (reply.failure)
            std::rethrow_exception(reply.failure);
        if (!reply.done)
            check(result, "receive a netlink answer");
    }
    return reply;
}

}  // namespace

void NetlinkMessage::Free::operator()(nl_msg* message) const noexcept {
    ::nlmsg_free(message);
}

NetlinkMessage::NetlinkMessage(std::uint16_t type, std::uint16_t flags) : message_(::nlmsg_alloc_size(kMessageSize)) {
    if (!message_ ||
        ::nlmsg_put(message_.get(), NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, static_cast<int>(flags)) == nullptr)
        failWith(ENOMEM, "make a netlink request");
}

void NetlinkMessage::append(const void* data, std::size_t size) {
    // The cast is safe: the parameter of nlmsg_append() lacks const, but the function only reads.
    check(::nlmsg_append(message_.get(), const_cast<void*>(data), size, NLMSG_ALIGNTO),
          "put {} bytes into a netlink request", size);
}

void NetlinkMessage::attribute(std::uint16_t type, const void* data, std::size_t size) {
    check(::nla_put(message_.get(), type, static_cast<int>(size), data),
          "put attribute {} of {} bytes into a netlink request", type, size);
}

void NetlinkMessage::nested(std::uint16_t type, const std::function<void()>& fill) {
    nlattr* const attribute = ::nla_nest_start(message_.get(), type);
    if (attribute == nullptr)
        fail("a netlink request becomes too large");
    // Clears NLA_F_NESTED, which nla_nest_start() may set and which drivers before Linux 5.2 don't expect.
    attribute->nla_type = type;
    fill();
    ::nla_nest_end(message_.get(), attribute);
}

std::span<const std::byte> NetlinkMessage::bytes() const {
    const nlmsghdr* const header = ::nlmsg_hdr(message_.get());
    return {reinterpret_cast<const std::byte*>(header), header->nlmsg_len};
}

void NetlinkSocket::Free::operator()(nl_sock* socket) const noexcept {
    ::nl_socket_free(socket);
}

NetlinkSocket::NetlinkSocket(int protocol) : socket_(::nl_socket_alloc()) {
    if (!socket_)
        failWith(ENOMEM, "create a netlink socket");
    check(::nl_connect(socket_.get(), protocol), "create a netlink socket");
    check(::nl_socket_set_msg_buf_size(socket_.get(), kAnswerSize), "set the buffer of a netlink socket");
    // Disables the peek that libnl makes to find the size of a message, because no message of the kernel exceeds the
    // buffer.
    ::nl_socket_disable_msg_peek(socket_.get());
}

int NetlinkSocket::request(NetlinkMessage& message, const Visitor& visit) {
    for (int tries = 1;; ++tries) {
        Reply reply = exchange(socket_.get(), message.message_.get());
        if (reply.interrupted && tries < kTries)
            continue;
        if (reply.interrupted)
            failWith(EINTR, "what the kernel is to list through netlink changes all the time");
        for (std::size_t at = 0; visit && at < reply.messages.size();) {
            const auto* const header = reinterpret_cast<const nlmsghdr*>(&reply.messages[at]);
            visit(*header, {static_cast<const std::byte*>(::nlmsg_data(header)),
                            static_cast<std::size_t>(::nlmsg_datalen(header))});
            at += NLMSG_ALIGN(header->nlmsg_len);
        }
        return reply.code;
    }
}

void forEachAttribute(std::span<const std::byte> attributes,
                      const std::function<void(std::uint16_t, std::span<const std::byte>)>& visit) {
    // The cast is safe: libnl's parameters lack const, but the functions only read.
    const auto* at = reinterpret_cast<const nlattr*>(attributes.data());
    auto left = static_cast<int>(attributes.size());
    while (left >= static_cast<int>(sizeof(nlattr)) && ::nla_ok(at, left) != 0) {
        visit(static_cast<std::uint16_t>(::nla_type(at)),
              {static_cast<const std::byte*>(::nla_data(at)), static_cast<std::size_t>(::nla_len(at))});
        at = ::nla_next(at, &left);
    }
}

bool hasAttribute(std::span<const std::byte> attributes, std::uint16_t type) noexcept {
    return ::nla_find(reinterpret_cast<const nlattr*>(attributes.data()), static_cast<int>(attributes.size()), type) !=
           nullptr;
}

}  // namespace criu::kernel
