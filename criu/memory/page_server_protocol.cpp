// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/page_server_protocol.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "criu/base/error.hpp"

namespace criu::memory {
namespace {

constexpr unsigned kKindBits = 8;
constexpr std::uint64_t kProcess = 1;
constexpr std::uint64_t kShared = 2;

}  // namespace

std::uint64_t objectNumber(const MemoryObject& object) noexcept {
    return object.id << kKindBits | (object.kind == MemoryObject::Kind::Process ? kProcess : kShared);
}

std::optional<MemoryObject> objectOf(std::uint64_t number) noexcept {
    const std::uint64_t id = number >> kKindBits;
    switch (number & ((1U << kKindBits) - 1)) {
        case kProcess:
        case 10:  // the numbers that senders before 3.3 gave to kinds of image files
        case 11:
        case 16:
        case 17:
            return MemoryObject{MemoryObject::Kind::Process, id};
        case kShared:
        case 27:
        case 28:
        case 29:
        case 32:
        case 33:
        case 34:
            return MemoryObject{MemoryObject::Kind::Shared, id};
        default:
            return std::nullopt;
    }
}

void sendAll(int socket, std::span<const std::byte> bytes, bool moreFollows) {
    while (!bytes.empty()) {
        const ssize_t done = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | (moreFollows ? MSG_MORE : 0));
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            failErrno("send pages to the other side");
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

bool receiveAll(int socket, std::span<std::byte> bytes) {
    const std::size_t wanted = bytes.size();
    while (!bytes.empty()) {
        const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            failErrno("receive pages from the other side");
        if (got == 0 && bytes.size() == wanted)
            return false;
        if (got == 0)
            fail("the other side closed the connection within a message");
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return true;
}

template <typename Number>
Number receiveNumber(int socket) {
    Number number{};
    if (!receiveAll(socket, std::as_writable_bytes(std::span(&number, 1))))
        fail("the page server doesn't answer: it has closed the connection");
    return number;
}

template std::uint8_t receiveNumber<std::uint8_t>(int socket);
template std::int32_t receiveNumber<std::int32_t>(int socket);

void sendAtOnce(int socket) noexcept {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // no TCP: nothing is gathered
}

}  // namespace criu::memory
