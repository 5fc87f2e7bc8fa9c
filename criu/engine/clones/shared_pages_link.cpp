// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/clones/shared_pages_link.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/clones/shared_pages_daemon.hpp"
#include "criu/engine/local_channel.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/peer_auth.hpp"

namespace criu::engine {
namespace {

/// Maximum time of one blocking call on the connection. The daemon may read images before it receives a message.
constexpr std::chrono::seconds kBlocking{60};

/// Returns the address of the daemon that serves these images. The address contains inode and times of the inventory,
/// so the images of a new dump have another address.
DaemonAddress addressOf(const ImageDir& directory) {
    const auto inventory = directory.openRaw(ImageKind::Inventory, 0, O_RDONLY);
    if (!inventory)
        failWith(ENOENT, "{}: there is no inventory", directory.name());
    struct stat state {};
    sys(::fstat(inventory->get(), &state), "look at the inventory");
    return DaemonAddress(fmt::format("clones-{}-{}-{}.{}-{}.{}", state.st_dev, state.st_ino, state.st_mtim.tv_sec,
                                     state.st_mtim.tv_nsec, state.st_ctim.tv_sec, state.st_ctim.tv_nsec));
}

/// Receives the shared-pages file, which the daemon sends first. Returns nothing if the daemon has ended. Throws Error.
std::optional<SharedPagesLink> takeFile(UniqueFd socket, const WaitLimit& limit) {
    limitBlocking(socket.get(), kBlocking);
    LazyLink link(std::move(socket));
    UniqueFd file;
    std::optional<LazyMessage> message;
    try {
        message = link.receive(file, limit);
    } catch (const Error& error) {
        // The kernel reports a reset instead of the end if the daemon ends before it reads criu's messages.
        if (error.code() != ECONNRESET)
            throw;
    }
    if (!message)
        return std::nullopt;
    if (message->kind != LazyMessage::Kind::File || !file)
        fail("the shared-pages daemon sent another message instead of the shared-pages file");
    return SharedPagesLink{std::move(link), std::move(file)};
}

/// Joins a daemon that another restore has started. Returns nothing if the daemon has ended. Throws Error.
std::optional<SharedPagesLink> join(UniqueFd socket, const WaitLimit& limit, const WaitLimit& longLimit) {
    switch (authenticateTo(socket.get(), limit)) {
        case PeerAuthResult::Gone:
            return std::nullopt;
        case PeerAuthResult::UnauthenticatedPeer:
            failWith(EPERM, "the process with its socket can't read the memory of this process");
        case PeerAuthResult::Believed:
            break;
    }
    return takeFile(std::move(socket), longLimit);
}

}  // namespace

SharedPagesLink connectToSharedPages(const RestoreImages& images, const ImageDir& directory,
                                     const model::Options& options, StopRequest& stop, Log& log) {
    const ErrorContext context([] { return "shared-pages daemon"; });
    const WaitLimit limit = waitLimitOf(options, stop);
    const WaitLimit longLimit = longWaitLimitOf(options, stop);
    const DaemonAddress address = addressOf(directory);
    // Tries again if the daemon ends with its last clone between connect() and the reply. The next attempt then starts
    // a new daemon.
    constexpr int kAttempts = 50;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        if (auto socket = address.connect(limit)) {
            if (auto clones = join(std::move(*socket), limit, longLimit))
                return std::move(*clones);
        } else {
            auto started = startDaemon(address, "the shared-pages daemon", [&](DaemonPlace place, UniqueFd client) {
                runSharedPagesDaemon({std::move(place), std::move(client), images, directory, stop, log});
            });
            // If another restore is starting a daemon, the next attempt connects to that daemon.
            if (started) {
                log.info("The shared-pages daemon of these images is started");
                if (!keepsLog(log))
                    log.warn(
                        "the shared-pages daemon has no log file for its errors, such as damaged pages: restore with "
                        "--log-file");
                if (auto clones = takeFile(std::move(*started), longLimit))
                    return std::move(*clones);
            }
        }
        constexpr std::chrono::milliseconds kPause{20};
        pauseFor(kPause, stop);
    }
    fail("it ends again and again: its messages are in the log of the restore that has started it");
}

}  // namespace criu::engine
