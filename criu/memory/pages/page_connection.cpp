// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "criu/base/error.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/memory/pages/page_tls.hpp"

namespace criu::memory {

PageConnection::PageConnection(UniqueFd socket, StopRequest& stop, std::chrono::seconds patience) noexcept
    : socket_(std::move(socket)), stop_(stop) {
    setPatience(patience);
    const int on = 1;
    // Ignores the failure for a Unix socket, because a Unix socket never delays data.
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

PageConnection::PageConnection(PageConnection&&) noexcept = default;

PageConnection::~PageConnection() {
    if (tls_)
        tls_->close();
}

void PageConnection::secure(bool asServer, std::shared_ptr<const TlsCredentials> credentials,
                            std::optional<std::chrono::milliseconds> limit) {
    using Clock = std::chrono::steady_clock;
    constexpr const char* kSilent = "begin TLS: the other side doesn't take part";
    const Clock::time_point begin = Clock::now();
    auto tls = std::make_unique<PageTls>(socket_.get(), asServer ? PageTls::Side::Server : PageTls::Side::Client,
                                         std::move(credentials));
    for (;;) {
        const PageTls::Step step = tls->handshake();
        if (step.events == 0)
            break;
        if (!limit) {
            await(step.events, kSilent);
            continue;
        }
        // Limits the time of the complete handshake, so that a peer that sends single bytes can't prolong it.
        const auto used = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
        if (used >= *limit || !waitReady(socket_.get(), step.events, stop_, *limit - used))
            failWith(ETIMEDOUT, "{} for {} s", kSilent, limit->count() / 1000);
    }
    tls_ = std::move(tls);
}

void PageConnection::endSecurity() {
    if (!tls_)
        return;
    tls_->close();
    if (std::byte more{}; receive(std::span(&more, 1)))
        fail("the other side goes on after the end");
    tls_.reset();
}

/// Sends some of the bytes. Returns 0 if the caller must repeat the call: the function only waited, or was interrupted.
std::size_t PageConnection::sendSome(std::span<const std::byte> bytes, bool moreFollows) {
    constexpr const char* kDeaf = "send pages: the other side takes nothing";
    if (tls_) {
        const PageTls::Step step = tls_->send(bytes);
        if (step.events != 0)
            await(step.events, kDeaf);
        return step.bytes;
    }
    const ssize_t done =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT | (moreFollows ? MSG_MORE : 0));
    if (done >= 0)
        return static_cast<std::size_t>(done);
    if (errno == EAGAIN)
        await(POLLOUT, kDeaf);
    else if (errno != EINTR)
        failErrno("send pages to the other side");
    return 0;
}

void PageConnection::send(std::span<const std::byte> bytes, bool moreFollows) {
    while (!bytes.empty())
        bytes = bytes.subspan(sendSome(bytes, moreFollows));
}

/// Waits for bytes and receives some. Returns 0 if the peer has closed the connection.
std::size_t PageConnection::receiveSome(std::span<std::byte> bytes) {
    constexpr const char* kSilent = "receive pages: the other side sends nothing";
    for (;;) {
        if (tls_) {
            const PageTls::Step step = tls_->receive(bytes);
            if (step.events == 0)
                return step.bytes;
            await(step.events, kSilent);
            continue;
        }
        const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got >= 0)
            return static_cast<std::size_t>(got);
        if (errno == EAGAIN)
            await(POLLIN, kSilent);
        else if (errno != EINTR)
            failErrno("receive pages from the other side");
    }
}

bool PageConnection::receive(std::span<std::byte> bytes) {
    const std::size_t wanted = bytes.size();
    while (!bytes.empty()) {
        const std::size_t got = receiveSome(bytes);
        if (got == 0 && bytes.size() == wanted)
            return false;
        if (got == 0)
            fail("the other side closed the connection within a message");
        bytes = bytes.subspan(got);
    }
    return true;
}

void PageConnection::setPatience(std::chrono::seconds patience) noexcept {
    patience_.reset();
    if (patience.count() > 0)
        patience_ = patience;
}

void PageConnection::interrupt() noexcept {
    ::shutdown(socket_.get(), SHUT_RDWR);
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
