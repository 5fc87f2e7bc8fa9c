// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/usernsd.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/signals_blocked.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/kernel/pass_fd.hpp"

namespace criu::kernel {
namespace {

enum class Wish : std::uint32_t { OpenBelow, OpenAgain, OpenByHandle, SocketOption, PipeSize };

/// Request to the thread of usernsd. The message also passes one end of a socket pair. By this pair, the caller then
/// sends the object of the call, and receives the answer.
struct Request {
    Wish wish{};
    std::int32_t first = 0;
    std::int32_t second = 0;
    std::uint32_t size = 0;  ///< number of used bytes in `bytes`
    alignas(8) std::array<std::byte, 4096> bytes{};
};

struct Answer {
    std::int32_t code = 0;  ///< errno of the call; 0 if it succeeded
};

std::pair<UniqueFd, UniqueFd> makePair() {
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a pair of sockets");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

template <typename Message>
std::span<const std::byte> bytesOf(const Message& message) {
    return std::as_bytes(std::span(&message, 1));
}

UniqueFd asFd(long result) {
    return UniqueFd(static_cast<int>(result));
}

/// Makes the requested system call. Returns the new descriptor, or an invalid descriptor if the call creates none. If
/// the call fails, returns nullopt and sets errno.
std::optional<UniqueFd> fulfil(const Request& request, int object) {
    const auto opened = [](UniqueFd fd) { return fd ? std::optional(std::move(fd)) : std::nullopt; };
    const auto done = [](int result) { return result >= 0 ? std::optional<UniqueFd>(UniqueFd()) : std::nullopt; };
    std::array<std::byte, 4096> bytes = request.bytes;
    switch (request.wish) {
        case Wish::OpenBelow: {
            open_how how{};
            how.flags = static_cast<std::uint32_t>(request.first) | O_CLOEXEC;
            if ((how.flags & O_PATH) != 0)  // openat2(2) refuses most flags together with O_PATH
                how.flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
            how.resolve = RESOLVE_IN_ROOT;
            bytes.back() = std::byte{0};
            return opened(asFd(::syscall(SYS_openat2, object, bytes.data(), &how, sizeof(how))));
        }
        case Wish::OpenAgain: {
            const std::string path = fmt::format("/proc/self/fd/{}", object);
            return opened(UniqueFd(::open(path.c_str(), request.first | O_CLOEXEC)));
        }
        case Wish::OpenByHandle: {
            auto* const handle = reinterpret_cast<file_handle*>(bytes.data());
            if (sizeof(*handle) + handle->handle_bytes > request.size) {
                errno = EINVAL;
                return std::nullopt;
            }
            return opened(UniqueFd(::open_by_handle_at(object, handle, request.first | O_CLOEXEC)));
        }
        case Wish::SocketOption:
            return done(::setsockopt(object, SOL_SOCKET, request.first, &request.second, sizeof(request.second)));
        case Wish::PipeSize:
            return done(::fcntl(object, F_SETPIPE_SZ, request.first));
    }
    errno = ENOSYS;
    return std::nullopt;
}

void answerOne(const Request& request, int channel) {
    Answer answer;
    std::array<std::byte, 1> mark{};
    const ReceivedMessage object = receiveMessage(channel, mark);
    std::optional<UniqueFd> result;
    if (object.fd)
        result = fulfil(request, object.fd.get());
    else
        errno = EMFILE;
    if (!result)
        answer.code = errno != 0 ? errno : EIO;
    sendMessage(channel, bytesOf(answer), result && *result ? result->get() : -1);
}

void serveAll(int channel) {
    for (;;) {
        Request request;
        ReceivedMessage received;
        try {
            received = receiveMessage(channel, std::as_writable_bytes(std::span(&request, 1)));
            if (received.size == 0)
                return;
            if (received.size == sizeof(request) && received.fd)
                answerOne(request, received.fd.get());
        } catch (const std::exception&) {
            // Ignores the failure: a caller that has ended needs no answer, and a waiting caller finds its channel
            // closed.
            if (received.size == 0) {
                ::shutdown(channel, SHUT_RDWR);
                return;
            }
        }
    }
}

/// Sends a request, and returns the new descriptor. Sets errno to the result of the call.
UniqueFd ask(int channel, const Request& request, int object) {
    auto [here, there] = makePair();
    sendMessage(channel, bytesOf(request), there.get());
    there.reset();
    const std::array<std::byte, 1> mark{};
    sendMessage(here.get(), mark, object);
    Answer answer;
    ReceivedMessage received = receiveMessage(here.get(), std::as_writable_bytes(std::span(&answer, 1)));
    if (received.size != sizeof(answer))
        fail("the criu outside of the user namespace doesn't answer");
    errno = received.lost ? EMFILE : answer.code;
    return std::move(received.fd);
}

Request requestOf(Wish wish, int first, int second, std::span<const std::byte> bytes) {
    Request request;
    request.wish = wish;
    request.first = first;
    request.second = second;
    if (bytes.size() >= request.bytes.size())
        failWith(ENAMETOOLONG, "ask for help outside of the user namespace");
    request.size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(request.bytes.data(), bytes.data(), bytes.size());
    return request;
}

}  // namespace

Usernsd::Usernsd() {
    auto [ours, theirs] = makePair();
    ours_ = std::move(ours);
    theirs_ = std::move(theirs);
}

Usernsd::~Usernsd() {
    stop();
}

void Usernsd::stop() noexcept {
    if (!server_.joinable())
        return;
    ::shutdown(ours_.get(), SHUT_RDWR);
    server_.join();
    theirs_.reset();
}

void Usernsd::inherit(FdStore& store) {
    theirs_ = store.inherit(FdKey::Usernsd, std::move(theirs_));
}

void Usernsd::serve() {
    const SignalsBlocked blocked;  // blocks signals in the new thread, so that the main thread handles them
    server_ = startThread([channel = ours_.get()] { serveAll(channel); });
}

UniqueFd Usernsd::openBelow(int directory, const std::string& path, int flags) const {
    return ask(theirs_.get(), requestOf(Wish::OpenBelow, flags, 0, std::as_bytes(std::span(path))), directory);
}

UniqueFd Usernsd::openAgain(int fd, int flags) const {
    return ask(theirs_.get(), requestOf(Wish::OpenAgain, flags, 0, {}), fd);
}

UniqueFd Usernsd::openByHandle(int mount, std::span<const std::byte> handle, int flags) const {
    return ask(theirs_.get(), requestOf(Wish::OpenByHandle, flags, 0, handle), mount);
}

int Usernsd::setSocketOption(int socket, int option, int value) const {
    (void)ask(theirs_.get(), requestOf(Wish::SocketOption, option, value, {}), socket);
    return errno;
}

int Usernsd::setPipeSize(int pipe, int bytes) const {
    (void)ask(theirs_.get(), requestOf(Wish::PipeSize, bytes, 0, {}), pipe);
    return errno;
}

}  // namespace criu::kernel
