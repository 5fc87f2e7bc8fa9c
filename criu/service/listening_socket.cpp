// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/listening_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/names.hpp"

namespace criu::service {
namespace {

constexpr int kBacklog = 128;

std::optional<int> numberIn(const char* variable) {
    const char* const text = ::secure_getenv(variable);
    if (text == nullptr)
        return std::nullopt;
    const std::string_view digits(text);
    int number = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem != std::errc() || end != digits.data() + digits.size())
        return std::nullopt;
    return number;
}

int givenOptionOf(int socket, int option) {
    int value = 0;
    socklen_t size = sizeof(value);
    sys(::getsockopt(socket, SOL_SOCKET, option, &value, &size), "look at fd {}", socket);
    return value;
}

/// Returns the address of a name in an open directory. It uses a short path in /proc, because a socket address has
/// space for only 107 bytes.
sockaddr_un addressIn(int directory, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = fmt::format("/proc/self/fd/{}/{}", directory, name);
    if (path.size() >= sizeof(address.sun_path))
        failWith(ENAMETOOLONG, "the name {}", name);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

UniqueFd makeSocket() {
    return UniqueFd(sys(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "make a socket"));
}

/// Removes a socket at which no process listens.
void removeUnused(int directory, const std::string& name, const sockaddr_un& address) {
    struct stat there {};
    if (::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (!S_ISSOCK(there.st_mode))
        failWith(EEXIST, "something that is no socket is there");
    const UniqueFd test = makeSocket();
    if (::connect(test.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN)
        failWith(EADDRINUSE, "another service listens there");
    if (const int code = removeIfSame(directory, name.c_str(), Inode::of(there)); code != 0)
        failWith(code, "remove the socket of an earlier service");
}

}  // namespace

std::optional<UniqueFd> takePassedSocket() {
    constexpr int kFirst = 3;
    if (numberIn("LISTEN_PID") != ::getpid())
        return std::nullopt;
    const int count = numberIn("LISTEN_FDS").value_or(0);
    if (count == 0)
        return std::nullopt;
    ::unsetenv("LISTEN_PID");
    ::unsetenv("LISTEN_FDS");
    ::unsetenv("LISTEN_FDNAMES");
    const ErrorContext context([] { return "socket passed by systemd (LISTEN_FDS)"; });
    if (count != 1)
        fail("{} sockets were passed, but there is only one kind of requests", count);
    if (givenOptionOf(kFirst, SO_DOMAIN) != AF_UNIX || givenOptionOf(kFirst, SO_TYPE) != SOCK_SEQPACKET ||
        givenOptionOf(kFirst, SO_ACCEPTCONN) == 0)
        fail("fd {} is no listening Unix socket of type SOCK_SEQPACKET (ListenSequentialPacket=)", kFirst);
    sys(::fcntl(kFirst, F_SETFD, FD_CLOEXEC), "own fd {}", kFirst);
    return UniqueFd(kFirst);
}

UniqueFd listenAt(const std::string& path) {
    const ErrorContext context([&] { return fmt::format("socket {}", path); });
    const std::string parent = parentDirectory(path);
    // rfind() returns npos if there is no slash, and npos + 1 is 0.
    const std::string name = path.substr(path.rfind('/') + 1);
    const UniqueFd directory(
        sys(::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "open its directory"));
    const sockaddr_un address = addressIn(directory.get(), name);
    removeUnused(directory.get(), name, address);
    UniqueFd socket = makeSocket();
    // bind(2) creates a file with the mode of the socket's inode, reduced by the umask (unix_bind_bsd()).
    sys(::fchmod(socket.get(), 0600), "set its mode");
    sys(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "bind");
    sys(::listen(socket.get(), kBacklog), "listen");
    return socket;
}

SocketName::SocketName(std::string path) : path_(std::move(path)) {
    struct stat there {};
    sys(::lstat(path_.c_str(), &there), "look at the socket {}", path_);
    inode_ = Inode::of(there);
}

void SocketName::remove(Log& log) const noexcept {
    try {
        const std::string parent = parentDirectory(path_);
        const std::string name = path_.substr(path_.rfind('/') + 1);
        const UniqueFd directory(
            sys(::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "open its directory"));
        if (const int code = removeIfSame(directory.get(), name.c_str(), inode_); code != 0)
            failWith(code, "remove it");
    } catch (const std::exception& error) {
        log.warn("the socket {} is left: {}", path_, error.what());
    }
}

}  // namespace criu::service
