// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/names/socket_name.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/names.hpp"

namespace criu {
namespace {

constexpr int kBacklog = 128;

/// Directory and name of a path.
struct Place {
    explicit Place(const std::string& path)
        : name(path.substr(path.rfind('/') + 1)) {  // rfind() returns npos if there is no slash, and npos + 1 is 0
        const std::string parent = parentDirectory(path);
        directory.reset(
            sys(::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "open its directory"));
    }

    std::string name;
    UniqueFd directory;
};

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
        failWith(EADDRINUSE, "another process listens there");
    if (const int code = removeIfSame(directory, name.c_str(), Inode::of(there)); code != 0)
        failWith(code, "remove the socket of an earlier process");
}

}  // namespace

UniqueFd listenAt(const std::string& path) {
    const ErrorContext context([&] { return fmt::format("socket {}", path); });
    const Place place(path);
    const sockaddr_un address = addressIn(place.directory.get(), place.name);
    removeUnused(place.directory.get(), place.name, address);
    UniqueFd socket = makeSocket();
    // bind(2) creates a file with the mode of the socket's inode, reduced by the umask (unix_bind_bsd()).
    sys(::fchmod(socket.get(), 0600), "set its mode");
    sys(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "bind");
    sys(::listen(socket.get(), kBacklog), "listen");
    return socket;
}

UniqueFd connectTo(const std::string& path) {
    const ErrorContext context([&] { return fmt::format("socket {}", path); });
    const Place place(path);
    const sockaddr_un address = addressIn(place.directory.get(), place.name);
    UniqueFd socket(sys(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "make a socket"));
    sys(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "connect");
    return socket;
}

SocketName::SocketName(std::string path) : path_(std::move(path)) {
    struct stat there {};
    sys(::lstat(path_.c_str(), &there), "look at the socket {}", path_);
    inode_ = Inode::of(there);
}

void SocketName::remove(Log& log) const noexcept {
    try {
        const Place place(path_);
        if (const int code = removeIfSame(place.directory.get(), place.name.c_str(), inode_); code != 0)
            failWith(code, "remove it");
    } catch (const std::exception& error) {
        log.warn("the socket {} is left: {}", path_, error.what());
    }
}

}  // namespace criu
