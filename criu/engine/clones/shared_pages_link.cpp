// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/clones/shared_pages_link.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/clones/shared_pages_daemon.hpp"
#include "criu/engine/local_channel.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/peer_auth.hpp"

namespace criu::engine {
namespace {

/// Returns the abstract address of the daemon that serves these images. The address contains inode and times of the
/// inventory, so that the images of a new dump have a different address.
AbstractAddress addressOf(const ImageDir& directory) {
    const auto inventory = directory.openRaw(ImageKind::Inventory, 0, O_RDONLY);
    if (!inventory)
        failWith(ENOENT, "{}: there is no inventory", directory.name());
    struct stat state {};
    sys(::fstat(inventory->get(), &state), "look at the inventory");
    return AbstractAddress(fmt::format("criu-clones-{}-{}-{}.{}-{}.{}", state.st_dev, state.st_ino,
                                       state.st_mtim.tv_sec, state.st_mtim.tv_nsec, state.st_ctim.tv_sec,
                                       state.st_ctim.tv_nsec));
}

/// Receives the shared-pages file, which the daemon sends first. Returns nothing if the daemon has ended. Throws Error.
std::optional<SharedPagesLink> takeFile(UniqueFd socket, StopRequest& stop) {
    LazyLink link(std::move(socket));
    UniqueFd file;
    const auto message = link.receive(file, stop);
    if (!message)
        return std::nullopt;
    if (message->kind != LazyMessage::Kind::File || !file)
        fail("the shared-pages daemon sent another message instead of the shared-pages file");
    return SharedPagesLink{std::move(link), std::move(file)};
}

/// Joins a daemon that another restore has started. Returns nothing if the daemon has ended. Throws Error.
std::optional<SharedPagesLink> join(UniqueFd socket, StopRequest& stop) {
    switch (authenticateTo(socket.get())) {
        case PeerAuthResult::Gone:
            return std::nullopt;
        case PeerAuthResult::UnauthenticatedPeer:
            failWith(EPERM, "a process of another user has its name");
        case PeerAuthResult::Believed:
            break;
    }
    return takeFile(std::move(socket), stop);
}

}  // namespace

SharedPagesLink connectToSharedPages(const RestoreImages& images, const ImageDir& directory, StopRequest& stop,
                                     Log& log) {
    const ErrorContext context([] { return "shared-pages daemon"; });
    const AbstractAddress address = addressOf(directory);
    // Maximum number of attempts. A daemon may end with its last clone between connect() and its reply; the next
    // attempt then starts a new daemon.
    constexpr int kAttempts = 50;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        if (auto socket = address.connect()) {
            if (auto clones = join(std::move(*socket), stop))
                return std::move(*clones);
        } else {
            if (errno != ECONNREFUSED)
                failErrno("connect to it");
            auto started = startDaemon(address, "the shared-pages daemon", [&](UniqueFd listener, UniqueFd client) {
                runSharedPagesDaemon({std::move(listener), std::move(client), images, directory, stop, log});
            });
            // If bind() failed, another restore is starting a daemon. The next attempt connects to this daemon.
            if (started) {
                log.info("The shared-pages daemon of these images is started");
                if (auto clones = takeFile(std::move(*started), stop))
                    return std::move(*clones);
            }
        }
        constexpr useconds_t kPause = 20'000;
        ::usleep(kPause);
    }
    fail("it ends again and again: its messages are in the log of the restore that has started it");
}

}  // namespace criu::engine
