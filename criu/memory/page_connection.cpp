// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/page_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "criu/base/error.hpp"
#include "criu/base/ready_wait.hpp"

namespace criu::memory {

PageConnection::PageConnection(UniqueFd socket, StopRequest& stop, std::chrono::seconds patience) noexcept
    : socket_(std::move(socket)), stop_(stop) {
    if (patience.count() > 0)
        patience_ = patience;
    const int on = 1;
    // Of a Unix socket this fails: nothing is gathered there.
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void PageConnection::send(std::span<const std::byte> bytes, bool moreFollows) {
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (moreFollows ? MSG_MORE : 0);
    while (!bytes.empty()) {
        const ssize_t done = ::send(socket_.get(), bytes.data(), bytes.size(), flags);
        if (done >= 0)
            bytes = bytes.subspan(static_cast<std::size_t>(done));
        else if (errno == EAGAIN)
            await(POLLOUT, "send pages: the other side takes nothing");
        else if (errno != EINTR)
            failErrno("send pages to the other side");
    }
}

bool PageConnection::receive(std::span<std::byte> bytes) {
    const std::size_t wanted = bytes.size();
    while (!bytes.empty()) {
        const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got > 0)
            bytes = bytes.subspan(static_cast<std::size_t>(got));
        else if (got == 0 && bytes.size() == wanted)
            return false;
        else if (got == 0)
            fail("the other side closed the connection within a message");
        else if (errno == EAGAIN)
            await(POLLIN, "receive pages: the other side sends nothing");
        else if (errno != EINTR)
            failErrno("receive pages from the other side");
    }
    return true;
}

void PageConnection::receiveAnswer(std::span<std::byte> bytes) {
    if (!receive(bytes))
        fail("the page server doesn't answer: it has closed the connection");
}

void PageConnection::await(short events, const char* what) {
    if (!waitReady(socket_.get(), events, stop_, patience_))
        failWith(ETIMEDOUT, "{} for {} s (--timeout)", what, patience_->count() / 1000);
}

}  // namespace criu::memory
