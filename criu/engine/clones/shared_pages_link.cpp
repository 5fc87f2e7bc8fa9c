// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/clones/shared_pages_link.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/clones/shared_pages_daemon.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/daemon_process.hpp"
#include "criu/kernel/peer_auth.hpp"

namespace criu::engine {
namespace {

/// Abstract address of the daemon's socket. It needs no file and vanishes with the socket.
class SharedPagesAddress {
public:
    explicit SharedPagesAddress(const ImageDir& directory) {
        const auto inventory = directory.openRaw(ImageKind::Inventory, 0, O_RDONLY);
        if (!inventory)
            failWith(ENOENT, "{}: there is no inventory", directory.name());
        struct stat state {};
        sys(::fstat(inventory->get(), &state), "look at the inventory");
        // A new dump changes the inode or the times of the inventory, so it gets another address.
        const std::string name =
            fmt::format("criu-clones-{}-{}-{}.{}-{}.{}", state.st_dev, state.st_ino, state.st_mtim.tv_sec,
                        state.st_mtim.tv_nsec, state.st_ctim.tv_sec, state.st_ctim.tv_nsec);
        address_.sun_family = AF_UNIX;
        name.copy(address_.sun_path + 1, sizeof(address_.sun_path) - 1);
        size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    }

    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }
    [[nodiscard]] socklen_t size() const noexcept { return size_; }

private:
    sockaddr_un address_{};
    socklen_t size_ = 0;
};

UniqueFd makeSharedPagesSocket() {
    return UniqueFd(sys(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "make a socket"));
}

/// Receives the shared-pages file, which the daemon sends first. Returns nothing if the daemon has ended. Throws Error.
std::optional<SharedPagesLink> takeFile(UniqueFd socket, StopRequest& stop) {
    LazyLink link(std::move(socket));
    UniqueFd file;
    const auto message = link.receive(file, stop);
    if (!message)
        return std::nullopt;
    if (message->kind != LazyMessage::Kind::File || !file)
        fail("the keeper of clones sends something else than their file");
    return SharedPagesLink{std::move(link), std::move(file)};
}

/// Joins a daemon that another restore has started. Returns nothing if the daemon has ended. Throws Error.
std::optional<SharedPagesLink> join(UniqueFd socket, StopRequest& stop) {
    switch (authenticateTo(socket.get())) {
        case PeerAuthResult::Gone:
            return std::nullopt;
        case PeerAuthResult::UnauthenticatedPeer:
            failWith(EPERM, "somebody else has taken its name");
        case PeerAuthResult::Believed:
            break;
    }
    return takeFile(std::move(socket), stop);
}

/// Starts a daemon. Returns nothing if another daemon has taken the address. Throws Error.
std::optional<UniqueFd> startSharedPagesDaemon(const SharedPagesAddress& address, const RestoreImages& images,
                                               const ImageDir& directory, StopRequest& stop, Log& log) {
    UniqueFd listener = makeSharedPagesSocket();
    if (::bind(listener.get(), address.get(), address.size()) != 0) {
        if (errno == EADDRINUSE)
            return std::nullopt;
        failErrno("take the name of the keeper of clones");
    }
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel to the keeper of clones");
    UniqueFd own(ends[0]);
    UniqueFd client(ends[1]);
    createDaemon("the keeper of clones", [&] {
        runSharedPagesDaemon({std::move(listener), std::move(client), images, directory, stop, log});
    });
    return own;
}

}  // namespace

SharedPagesLink connectToSharedPages(const RestoreImages& images, const ImageDir& directory, StopRequest& stop,
                                     Log& log) {
    const ErrorContext context([] { return "keeper of clones"; });
    const SharedPagesAddress address(directory);
    // The daemon may end with its last clone between connect() and the reply. Then the next attempt starts a new one.
    constexpr int kAttempts = 50;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        UniqueFd socket = makeSharedPagesSocket();
        if (::connect(socket.get(), address.get(), address.size()) != 0) {
            if (errno != ECONNREFUSED)
                failErrno("connect to it");
            // A failed bind() means that another restore starts a daemon. The next attempt connects to it.
            if (auto started = startSharedPagesDaemon(address, images, directory, stop, log)) {
                log.info("The keeper of these images' clones is started");
                if (auto clones = takeFile(std::move(*started), stop))
                    return std::move(*clones);
            }
        } else if (auto clones = join(std::move(socket), stop)) {
            return std::move(*clones);
        }
        constexpr useconds_t kPause = 20'000;
        ::usleep(kPause);
    }
    fail("it ends again and again: its messages are in the log of the restore that has started it");
}

}  // namespace criu::engine
