// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/content_channel.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "plugins/amdgpu/image_file.hpp"

namespace criu::amdgpu {
namespace {

constexpr std::size_t kNameSize = 64;

/// What goes over the sockets; both ends are this program.
struct Message {
    std::uint32_t end = 0;  ///< 1: the last one
    std::uint32_t renderMinor = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    char image[kNameSize] = {};
};

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
    try {
        while (receive()) {
        }
    } catch (...) {
        failure_ = std::current_exception();
        ::shutdown(receiving_.get(), SHUT_RDWR);
    }
}

int ContentChannel::fileOf(const std::string& name, std::uint64_t needed) {
    const auto known = files_.find(name);
    if (known != files_.end())
        return known->second.get();
    return files_.emplace(name, openContent(images_, name, needed)).first->second.get();
}

bool ContentChannel::receive() {
    Message message;
    iovec data{&message, sizeof(message)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    const ssize_t got = ::recvmsg(receiving_.get(), &header, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR)
        return true;
    if (sys(got, "receive GPU buffers") == 0)
        return false;  // shut down
    UniqueFd dmabuf;
    if (const cmsghdr* const part = CMSG_FIRSTHDR(&header); part != nullptr && part->cmsg_type == SCM_RIGHTS) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
        dmabuf.reset(fd);
    }
    if (got != static_cast<ssize_t>(sizeof(message)))
        fail("a message about a GPU buffer has {} bytes", got);
    if (message.end != 0)
        return false;
    if (!dmabuf)
        fail("a GPU buffer was announced without its DMA-BUF");
    const std::string name(message.image, ::strnlen(message.image, kNameSize));
    const int file = fileOf(name, message.offset - kContentStart + message.size);
    mover_.add(message.renderMinor, {std::move(dmabuf), message.size, file, message.offset});
    return true;
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
            // The thread has shut the sockets down after a failure, which is told below.
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
