// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/kernel/pass_fd.hpp"

namespace criu::service {
namespace {

/// Maximal size of the text in a reply. The rest of a reply contains only a few numbers.
constexpr std::size_t kLargestText = kLargestReply - 64;

/// Timeout for a client to read replies while the buffer of the socket is full.
constexpr timeval kReadingTime{60, 0};

int socketOptionOf(int socket, int option) {
    int value = 0;
    socklen_t size = sizeof(value);
    sys(::getsockopt(socket, SOL_SOCKET, option, &value, &size), "the descriptor is no socket of a client");
    return value;
}

/// Returns the size of the first packet in the queue, without removing the packet; 0 at the end of the connection.
std::size_t nextSize(int socket) {
    std::byte nothing{};
    ssize_t size = 0;
    do
        size = ::recv(socket, &nothing, sizeof(nothing), MSG_PEEK | MSG_TRUNC);
    while (size < 0 && errno == EINTR);
    if (size < 0 && errno == ECONNRESET)
        return 0;
    return static_cast<std::size_t>(sys(size, "wait for a request"));
}

}  // namespace

Connection::Connection(UniqueFd socket) : socket_(std::move(socket)) {
    if (socketOptionOf(fd(), SO_DOMAIN) != AF_UNIX || socketOptionOf(fd(), SO_TYPE) != SOCK_SEQPACKET)
        fail("the descriptor is no Unix socket of type SOCK_SEQPACKET");
    sys(::setsockopt(fd(), SOL_SOCKET, SO_SNDTIMEO, &kReadingTime, sizeof(kReadingTime)),
        "limit the time of replies on fd {}", fd());
}

std::optional<Record<CriuReq>> Connection::receive(const WaitLimit& limit) {
    if (!waitReady(fd(), POLLIN, limit))
        failWith(ETIMEDOUT, "the client has sent no request within {} ms", limit.duration->count());
    const std::size_t size = nextSize(fd());
    if (size == 0)
        return std::nullopt;
    // If a packet is larger than the buffer, the kernel discards its rest, and all descriptors in it.
    std::vector<std::byte> bytes(std::min(size, kLargestRequest));
    const ssize_t got = ::recv(fd(), bytes.data(), bytes.size(), 0);
    sys(got, "receive a request");
    if (size > kLargestRequest)
        failWith(EBADRQC, "a request of {} bytes, but {} is the most", size, kLargestRequest);
    const ErrorContext context([] { return "request"; });
    return decode<CriuReq>(std::span(bytes).first(static_cast<std::size_t>(got)));
}

bool Connection::hasLeft() const {
    pollfd end{fd(), POLLRDHUP, 0};
    return ::poll(&end, 1, 0) > 0;
}

void Connection::send(const CriuResp& reply, int passed) {
    std::vector<std::byte> bytes(encodedSize(reply.base));
    ::protobuf_c_message_pack(&reply.base, reinterpret_cast<std::uint8_t*>(bytes.data()));
    const ErrorContext context([] { return "reply to the client"; });
    kernel::sendMessage(fd(), bytes, passed);
}

std::string_view cutToReply(std::string_view text) noexcept {
    if (text.size() <= kLargestText)
        return text;
    constexpr unsigned kContinued = 0x80;  // prefix of all bytes of a UTF-8 character except its first byte
    constexpr unsigned kContinuedMask = 0xc0;
    std::size_t size = kLargestText;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & kContinuedMask) == kContinued)
        --size;
    return text.substr(0, size);
}

}  // namespace criu::service
