// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/lazy/lazy_link.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/local_channel.hpp"

namespace criu::engine {
namespace {

constexpr const char* kName = "lazy-pages.socket";

sockaddr_un address() {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, kName, sizeof(name.sun_path) - 1);
    return name;
}

UniqueFd makeLazySocket(int type) {
    return UniqueFd(sys(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0), "make a socket"));
}

/// Connects to the daemon's socket file in the current directory. Returns 0, or the errno after a failure.
int connectTo(const UniqueFd& socket) noexcept {
    const sockaddr_un name = address();
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 ? 0 : errno;
}

/// Returns true if a daemon listens on the socket file in the current directory. Tries to connect by a datagram socket:
/// the kernel returns EPROTOTYPE if a packet socket listens. A connection by a packet socket would succeed, and the
/// daemon would treat it as a restore.
bool isListening() {
    const int code = connectTo(makeLazySocket(SOCK_DGRAM));
    return code == 0 || code == EPROTOTYPE;
}

void awaitInput(int socket, const WaitLimit& limit) {
    if (!waitReady(socket, POLLIN, limit))
        failWith(ETIMEDOUT, "the other process that supplies or restores pages doesn't answer");
}

}  // namespace

void requireOwnUser(int socket) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    sys(::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size), "look who is at the other end");
    if (peer.uid != ::geteuid())
        failWith(EPERM, "the other end of the socket for pages is user {}'s", peer.uid);
}

LazyLink LazyLink::connect(StopRequest& stop) {
    UniqueFd socket = makeLazySocket(SOCK_SEQPACKET);
    // Connects without blocking: connect(2) to a stopped daemon could wait forever, because this daemon doesn't accept
    // connections.
    sys(::fcntl(socket.get(), F_SETFL, O_NONBLOCK), "have {} not wait", kName);
    // Tries several times, because a new daemon creates the name some time before it calls listen(2).
    constexpr std::chrono::milliseconds kPause{20};
    int attempts = 25;
    int code = 0;
    while ((code = connectTo(socket)) != 0) {
        if ((code == ECONNREFUSED || code == EAGAIN) && --attempts > 0) {
            pauseFor(kPause, stop);
            continue;
        }
        Error error(code, fmt::format("connect to {} in the work directory", kName));
        error.addHint("criu lazy-pages has to be started there before, for each restore");
        throw error;
    }
    sys(::fcntl(socket.get(), F_SETFL, 0), "have {} wait again", kName);
    requireOwnUser(socket.get());
    return LazyLink(std::move(socket));
}

void LazyLink::send(const LazyMessage& message, int fd) {
    sendPacket(socket_.get(), message, fd);
}

std::optional<LazyMessage> LazyLink::receive(UniqueFd& fd, const WaitLimit& limit) {
    awaitInput(socket_.get(), limit);
    return receivePacket<LazyMessage>(socket_.get(), fd);
}

void LazyLink::receiveDone(StopRequest& stop) {
    UniqueFd none;
    const auto message = receive(none, stop);
    if (!message || message->kind != LazyMessage::Kind::Done)
        fail("the restore has failed");
}

LazyListener::LazyListener()
    : directory_(sys(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the work directory")),
      socket_(makeLazySocket(SOCK_SEQPACKET)) {
    const ErrorContext context([] { return std::string(kName); });
    struct stat there {};
    if (::fstatat(directory_.get(), kName, &there, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISSOCK(there.st_mode))
            failWith(EEXIST, "something that is no socket is there");
        if (isListening())
            failWith(EADDRINUSE, "another daemon listens there");
        inode_ = Inode::of(there);
        removeName();
    }
    const sockaddr_un name = address();
    // bind(2) creates the socket file with the mode of the socket's inode, reduced by the umask. So this sets the
    // inode's mode first.
    sys(::fchmod(socket_.get(), 0600), "set its mode");
    sys(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), "bind");
    sys(::fstatat(directory_.get(), kName, &there, AT_SYMLINK_NOFOLLOW), "stat it");
    inode_ = Inode::of(there);
    sys(::listen(socket_.get(), 1), "listen");
}

LazyListener::~LazyListener() {
    if (socket_)
        removeName();
}

void LazyListener::removeName() noexcept {
    (void)removeIfSame(directory_.get(), kName, inode_);
}

LazyLink LazyListener::accept(StopRequest& stop) {
    awaitInput(socket_.get(), {stop, std::nullopt});
    UniqueFd connection(sys(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept a restore"));
    requireOwnUser(connection.get());
    removeName();
    socket_.reset();
    return LazyLink(std::move(connection));
}

}  // namespace criu::engine
