// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/content_channel.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "plugins/amdgpu/image_file.hpp"

namespace criu::amdgpu {
namespace {

using Message = ContentMessage;
constexpr std::size_t kNameSize = sizeof(Message::image);

void sendMessage(int socket, const Message& message, int fd) {
    iovec data{const_cast<Message*>(&message), sizeof(message)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (fd >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof(control);
        cmsghdr* const part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(part), &fd, sizeof(fd));
    }
    for (;;) {
        const ssize_t sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
        if (sent == static_cast<ssize_t>(sizeof(message)))
            return;
        // Too many descriptors are under way: the receiver takes them out soon.
        if (sent < 0 && (errno == EINTR || errno == ETOOMANYREFS)) {
            ::usleep(1000);
            continue;
        }
        failErrno("hand a GPU buffer to the master");
    }
}

}  // namespace

ContentChannel::ContentChannel(Kernel& kernel, const ImageDir& images, std::uint64_t bufferLimit, StopRequest& stop,
                               const std::function<UniqueFd(UniqueFd)>& lift)
    : images_(images), mover_(kernel, Direction::Load, bufferLimit, &stop) {
    int ends[2] = {-1, -1};
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make sockets for GPU buffers");
    sending_.reset(ends[0]);
    receiving_.reset(ends[1]);
    sending_ = lift(std::move(sending_));
    receiving_ = lift(std::move(receiving_));
}

ContentChannel::~ContentChannel() {
    if (!thread_.joinable())
        return;
    // The restore has failed: no more is received.
    ::shutdown(receiving_.get(), SHUT_RDWR);
    thread_.join();
}

void ContentChannel::send(const ContentRequest& request) const {
    Message message;
    message.renderMinor = request.renderMinor;
    message.offset = request.offset;
    message.size = request.size;
    if (request.image.size() >= kNameSize)
        fail("image name {} is too long", request.image);
    request.image.copy(message.image, kNameSize - 1);
    sendMessage(sending_.get(), message, request.dmabuf.get());
}

void ContentChannel::start() {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { serve(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ContentChannel::serve() {
    for (;;) {
        try {
            std::optional<Received> received = receive();
            if (!received)
                return;
            if (!failure_)
                take(std::move(*received));
        } catch (...) {
            // Senders mustn't fail in consequence, with an error that says less: what they send goes nowhere.
            if (!failure_)
                failure_ = std::current_exception();
        }
    }
}

int ContentChannel::fileOf(const std::string& name, std::uint64_t needed) {
    const auto known = files_.find(name);
    if (known != files_.end())
        return known->second.get();
    return files_.emplace(name, openContent(images_, name, needed)).first->second.get();
}

/// Nothing: that was all.
std::optional<ContentChannel::Received> ContentChannel::receive() {
    Received received;
    iovec data{&received.message, sizeof(received.message)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    ssize_t got = -1;
    do
        got = ::recvmsg(receiving_.get(), &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got <= 0) {
        if (got < 0 && !failure_)
            failure_ = std::make_exception_ptr(Error(errno, "receive GPU buffers"));
        ::shutdown(receiving_.get(), SHUT_RDWR);
        return std::nullopt;
    }
    if (const cmsghdr* const part = CMSG_FIRSTHDR(&header); part != nullptr && part->cmsg_type == SCM_RIGHTS) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
        received.dmabuf.reset(fd);
    }
    if (got != static_cast<ssize_t>(sizeof(received.message)))
        fail("a message about a GPU buffer has {} bytes", got);
    if (received.message.end != 0)
        return std::nullopt;
    return received;
}

void ContentChannel::take(Received received) {
    const Message& message = received.message;
    if (!received.dmabuf)
        fail("a GPU buffer was announced without its DMA-BUF");
    const std::string name(message.image, ::strnlen(message.image, kNameSize));
    const int file = fileOf(name, message.offset - kContentStart + message.size);
    mover_.add(message.renderMinor, {std::move(received.dmabuf), message.size, file, message.offset});
}

bool ContentChannel::finish() {
    if (std::exchange(finished_, true))
        return false;
    // Behind all that was sent before.
    Message last;
    last.end = 1;
    if (thread_.joinable()) {
        try {
            sendMessage(sending_.get(), last, -1);
        } catch (const Error&) {
            // The thread has shut the sockets down after a failure to receive, which is told below.
            ::shutdown(receiving_.get(), SHUT_RDWR);
        }
        thread_.join();
    }
    if (failure_)
        std::rethrow_exception(std::exchange(failure_, nullptr));
    mover_.finish();
    files_.clear();
    return true;
}

}  // namespace criu::amdgpu
