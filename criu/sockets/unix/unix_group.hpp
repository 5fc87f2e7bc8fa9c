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
#include "criu/sockets/fresh_options.hpp"
#include "criu/sockets/socket_queue.hpp"
#include "criu/sockets/unix/unix_name.hpp"

namespace criu::files {
class PathRemaps;
}

namespace criu::sockets {

/// Values of unix_sk_entry.uflags.
enum class UnixFlag : std::uint32_t {
    Outside = 1,   ///< outside socket; a restore uses only its name
    Service = 2,   ///< client socket that was connected to the criu service during the dump
    Callback = 4,  ///< external socket that a plugin dumps and restores
};

/// Unix socket of the images, with pointers to the sockets to which it is connected.
struct UnixSocket {
    const UnixSkEntry* entry = nullptr;
    FileId id;
    UnixName name;
    UnixSocket* peer = nullptr;      ///< socket of the tree to which this socket is connected, or null
    UnixSocket* outside = nullptr;   ///< outside peer, or null; a restore never creates it
    UnixSocket* acceptor = nullptr;  ///< listener that hasn't accepted this socket's connection yet, or null
    /// Listener whose accept(2) returned this socket with the listener's name, or null.
    UnixSocket* listener = nullptr;
    std::vector<UnixSocket*> incoming;  ///< datagram sockets that are connected to this socket, except `peer`
    std::span<const QueuedPacket> queue;
    std::vector<UnixSocket*> senders;  ///< sender of each packet in the queue; null if the sender is unknown or closed

    [[nodiscard]] bool has(UnixFlag flag) const { return (entry->uflags & static_cast<std::uint32_t>(flag)) != 0; }
    [[nodiscard]] bool datagram() const;
    [[nodiscard]] bool in(kernel::UnixState state) const { return entry->state == static_cast<std::uint32_t>(state); }
    /// True if the socket is one end of a stream connection.
    [[nodiscard]] bool isEnd() const {
        return !datagram() && in(kernel::UnixState::Established) && outside == nullptr && acceptor == nullptr;
    }
    /// True if this socket and `peer` are connected to each other.
    [[nodiscard]] bool mutual() const { return peer != nullptr && peer->peer == this; }
    [[nodiscard]] std::string shown() const;
};

/// Returns the id of the socket's network namespace; 0 if the images have none.
[[nodiscard]] std::uint32_t networkOf(const UnixSkEntry& entry);
/// Returns the kind of the socket for FreshOptions.
[[nodiscard]] SocketType typeOf(const UnixSkEntry& entry);

/// Unix group: sockets that are connected to each other, or in flight in each other's queues. One process creates all
/// sockets of a group, so that it never waits for another process to create a peer.
class UnixGroup final : public files::RestoredFile {
public:
    /// All arguments must outlive this object.
    UnixGroup(const ProcessLock& lock, const ExternalSocketRestore& externalSockets, const files::PathRemaps& remaps,
              FreshOptions& fresh)
        : lock_(lock), externalSockets_(externalSockets), remaps_(remaps), fresh_(fresh) {}

    void add(UnixSocket& socket) { sockets_.push_back(&socket); }
    /// True if the restore of the group binds sockets to paths or looks up paths. Only one process at a time may do
    /// this (ProcessLock).
    [[nodiscard]] bool usesPaths() const;

    [[nodiscard]] std::string describe() const override;
    void open(files::FileOpener& opener) override;
    void complete(files::PlacedFiles& placed) override;
    [[nodiscard]] const FownEntry* owner(FileId id) const override;
    [[nodiscard]] std::vector<FileId> needs() const override;
    /// Always true, because a path can connect sockets of different network and mount namespaces.
    [[nodiscard]] bool spansNamespaces() const override { return true; }

    [[nodiscard]] std::span<UnixSocket* const> sockets() const { return sockets_; }

    /// Sending socket and address by which criu puts a packet into a queue.
    struct Route {
        FileId member;                   ///< sending socket of the group; used if `held` is null
        std::shared_ptr<UniqueFd> held;  ///< temporary sending socket, or null
        /// Address of the receiver; empty if the sending socket is connected to the receiver.
        std::string to;
        std::shared_ptr<UniqueFd> file;  ///< O_PATH descriptor of the receiver's socket file; null if `to` isn't a path

        /// Sends a packet. `find`: returns the descriptor of a socket of the group.
        void send(QueueFiller& filler, const QueuedPacket& packet, const std::function<int(FileId)>& find,
                  const kernel::Usernsd* usernsd) const;
    };
    /// Deferred packet: it contains the pid of its sender, so criu sends it only when all processes exist.
    struct Deferred {
        const QueuedPacket* packet = nullptr;
        Route route;
    };

private:
    friend class UnixGroupOpener;

    const ProcessLock& lock_;
    const ExternalSocketRestore& externalSockets_;
    const files::PathRemaps& remaps_;
    FreshOptions& fresh_;
    std::vector<UnixSocket*> sockets_;
    std::vector<Deferred> deferred_;
    std::vector<const UnixSocket*> given_;  ///< sockets from --inherit-fd or a plugin, which criu doesn't change
};

}  // namespace criu::sockets
