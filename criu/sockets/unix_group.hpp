// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "criu/base/process_lock.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/kernel/net/sock_diag.hpp"
#include "criu/sockets/external_sockets.hpp"
#include "criu/sockets/socket_queue.hpp"
#include "criu/sockets/unix_name.hpp"

namespace criu::files {
class PathRemaps;
}

namespace criu::sockets {

/// Values of unix_sk_entry.uflags.
enum class UnixFlag : std::uint32_t {
    Outside = 1,   ///< outside of the tree; only its name matters
    Service = 2,   ///< was connected to the criu service that dumped its client
    Callback = 4,  ///< restored by a plugin
};

/// A Unix socket of the images, and its relations to others.
struct UnixSocket {
    const UnixSkEntry* entry = nullptr;
    FileId id;
    UnixName name;
    UnixSocket* peer = nullptr;         ///< socket that it is connected to
    UnixSocket* outside = nullptr;      ///< or a peer outside of the tree (never opened)
    UnixSocket* acceptor = nullptr;     ///< or the listener that hasn't accepted its connection yet
    UnixSocket* listener = nullptr;     ///< listener that accepted it and gave it the name
    std::vector<UnixSocket*> incoming;  ///< datagram sockets connected to it, except its own peer
    std::span<const QueuedPacket> queue;
    std::vector<UnixSocket*> senders;  ///< sender of each packet in the queue; null if unknown or closed

    [[nodiscard]] bool has(UnixFlag flag) const { return (entry->uflags & static_cast<std::uint32_t>(flag)) != 0; }
    [[nodiscard]] bool datagram() const;
    [[nodiscard]] bool in(kernel::UnixState state) const { return entry->state == static_cast<std::uint32_t>(state); }
    /// True for one end of a stream.
    [[nodiscard]] bool isEnd() const {
        return !datagram() && in(kernel::UnixState::Established) && outside == nullptr && acceptor == nullptr;
    }
    /// True if both sockets are connected to each other.
    [[nodiscard]] bool mutual() const { return peer != nullptr && peer->peer == this; }
    [[nodiscard]] std::string shown() const;
};

/// Unix group: sockets that are connected, or in flight in each other's queues. One process creates all of them, so it
/// never waits for another one.
class UnixGroup final : public files::RestoredFile {
public:
    UnixGroup(const ProcessLock& lock, const ExternalSocketRestore& externalSockets, const files::PathRemaps& remaps)
        : lock_(lock), externalSockets_(externalSockets), remaps_(remaps) {}

    void add(UnixSocket& socket) { sockets_.push_back(&socket); }
    /// True if the group binds or looks up paths. No other process may do so at the same time (ProcessLock).
    [[nodiscard]] bool usesPaths() const;

    [[nodiscard]] std::string describe() const override;
    void open(files::FileOpener& opener) override;
    void complete(files::PlacedFiles& placed) override;
    [[nodiscard]] const FownEntry* owner(FileId id) const override;
    [[nodiscard]] std::vector<FileId> needs() const override;
    /// Names in file systems connect sockets of several network and mount namespaces.
    [[nodiscard]] bool spansNamespaces() const override { return true; }

    [[nodiscard]] std::span<UnixSocket* const> sockets() const { return sockets_; }

    /// Way to send packets into a queue.
    struct Route {
        FileId member;                   ///< socket that sends
        std::shared_ptr<UniqueFd> held;  ///< or a temporary socket that sends
        std::string to;                  ///< address of the target, if the sender isn't connected to it
        std::shared_ptr<UniqueFd> file;  ///< or the file of the target, if it is bound to a path

        /// Sends a packet. `find` returns descriptors of members.
        void send(QueueFiller& filler, const QueuedPacket& packet, const std::function<int(FileId)>& find,
                  const kernel::Usernsd* usernsd) const;
    };
    /// Deferred packet: it is sent when all processes exist, because it names its sender.
    struct Deferred {
        const QueuedPacket* packet = nullptr;
        Route route;
    };

private:
    friend class UnixGroupOpener;

    const ProcessLock& lock_;
    const ExternalSocketRestore& externalSockets_;
    const files::PathRemaps& remaps_;
    std::vector<UnixSocket*> sockets_;
    std::vector<Deferred> deferred_;
    std::vector<const UnixSocket*> given_;  ///< from --inherit-fd or a plugin; they aren't changed
};

}  // namespace criu::sockets
