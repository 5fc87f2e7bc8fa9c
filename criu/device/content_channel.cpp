// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/content_channel.hpp"

#include <sys/socket.h>

#include <cstring>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/signals_blocked.hpp"
#include "criu/base/thread_pool.hpp"

namespace criu::device {
namespace {

constexpr std::size_t kNameSize = 64;

template <typename Message>
std::span<std::byte> bytesOf(Message& message) {
    return std::as_writable_bytes(std::span(&message, 1));
}

}  // namespace

/// Message on the sockets. Both ends run the same criu program, so the layout may change between versions.
struct ContentChannel::Message {
    std::uint32_t end = 0;  ///< 1 for the last message, 0 for others
    std::uint32_t device = 0;
    std::uint32_t object = 0;
    std::uint32_t unused = 0;
    std::uint64_t position = 0;
    std::uint64_t size = 0;
    char file[kNameSize] = {};
};

ContentChannel::ContentChannel(ContentDriver& driver, LoadedStores& stores, std::uint64_t bufferLimit,
                               StopRequest& stop, const memory::ReadWatch& watch, kernel::FdStore& inherited)
    : stores_(stores), mover_(driver, Direction::Load, bufferLimit, &stop, watch) {
    int ends[2] = {-1, -1};
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make sockets for device buffers");
    sending_.reset(ends[0]);
    receiving_.reset(ends[1]);
    sending_ = inherited.inherit(kernel::FdKey::Device, std::move(sending_));
    receiving_ = inherited.inherit(kernel::FdKey::Device, std::move(receiving_));
}

ContentChannel::~ContentChannel() {
    if (!thread_.joinable())
        return;
    // The thread still runs only if the restore has failed. The shutdown ends it.
    ::shutdown(receiving_.get(), SHUT_RDWR);
    thread_.join();
}

void ContentChannel::send(const ContentRequest& request) const {
    Message message;
    message.device = request.device;
    message.object = request.place.object;
    message.position = request.place.position;
    message.size = request.size;
    if (request.place.file.size() >= kNameSize)
        fail("file name {} is too long", request.place.file);
    request.place.file.copy(message.file, kNameSize - 1);
    const ErrorContext context([] { return "hand a device buffer to the master"; });
    kernel::sendMessage(sending_.get(), bytesOf(message), request.buffer.get());
}

void ContentChannel::start() {
    const SignalsBlocked blocked;
    thread_ = startThread([this] { serve(); });
}

void ContentChannel::serve() {
    for (bool more = true; more;) {
        kernel::ReceivedMessage received;
        Message message;
        try {
            received = kernel::receiveMessage(receiving_.get(), bytesOf(message));
        } catch (...) {
            noteFailure();
            ::shutdown(receiving_.get(), SHUT_RDWR);
            return;
        }
        // After a failure, the thread still receives messages, and ignores them. If it closed the socket, a sender
        // would fail, and its error would hide the cause.
        try {
            more = received.size != 0 && take(message, std::move(received));
        } catch (...) {
            noteFailure();
        }
    }
}

void ContentChannel::noteFailure() noexcept {
    if (!failure_)
        failure_ = std::current_exception();
}

/// Handles a message. Returns false if it is the last one.
bool ContentChannel::take(const Message& message, kernel::ReceivedMessage received) {
    if (received.size != sizeof(message))
        fail("a message about a device buffer has {} bytes", received.size);
    if (message.end != 0)
        return false;
    if (failure_)
        return true;
    if (received.lost)
        fail("there was no room for the descriptor of a device buffer: too many files are open");
    if (!received.fd)
        fail("a device buffer was announced without its descriptor");
    const ContentPlace place{std::string(message.file, ::strnlen(message.file, kNameSize)), message.object,
                             message.position};
    ContentStore& store = stores_.at(place, message.size);
    mover_.add(message.device, {std::move(received.fd), message.size, &store, message.position});
    return true;
}

bool ContentChannel::finish() {
    if (std::exchange(finished_, true))
        return false;
    // This message arrives after all requests, because the socket preserves the order of messages.
    Message last;
    last.end = 1;
    if (thread_.joinable()) {
        try {
            kernel::sendMessage(sending_.get(), bytesOf(last), -1);
        } catch (const Error&) {
            // Ignores the error: after a failure, the thread has shut down the sockets itself. finish() throws this
            // failure below.
            ::shutdown(receiving_.get(), SHUT_RDWR);
        }
        thread_.join();
    }
    if (failure_)
        rethrow(std::exchange(failure_, nullptr));
    mover_.finish();
    stores_.close();
    return true;
}

}  // namespace criu::device
