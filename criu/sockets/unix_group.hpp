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
    Outside = 1,   ///< not of the tree: a name to connect to
    Service = 2,   ///< was connected to a criu service, which dumped its own client
    Callback = 4,  ///< restored by a plugin
};

/// A Unix socket of the images, and how it is tied to others.
struct UnixSocket {
    const UnixSkEntry* entry = nullptr;
    FileId id;
    UnixName name;
    UnixSocket* peer = nullptr;         ///< the one it is connected to
    UnixSocket* outside = nullptr;      ///< or the one outside of the tree (never opened)
    UnixSocket* acceptor = nullptr;     ///< or the listener in whose queue its connection waits
    UnixSocket* listener = nullptr;     ///< the listener that accepted it, whose name it has
    std::vector<UnixSocket*> incoming;  ///< datagram sockets connected to it, but its own peer
    std::span<const QueuedPacket> queue;
    std::vector<UnixSocket*> senders;  ///< of each packet in the queue; null where it isn't known or gone

    [[nodiscard]] bool has(UnixFlag flag) const { return (entry->uflags & static_cast<std::uint32_t>(flag)) != 0; }
    [[nodiscard]] bool datagram() const;
    [[nodiscard]] bool in(kernel::UnixState state) const { return entry->state == static_cast<std::uint32_t>(state); }
    /// One end of a stream.
    [[nodiscard]] bool isEnd() const {
        return !datagram() && in(kernel::UnixState::Established) && outside == nullptr && acceptor == nullptr;
    }
    /// Connected with each other.
    [[nodiscard]] bool mutual() const { return peer != nullptr && peer->peer == this; }
    [[nodiscard]] std::string shown() const;
};

/// Sockets that are tied to each other, by connections or by being in flight in each other's queues. One process makes
/// all of them, so it never has to wait for another.
class UnixGroup final : public files::RestoredFile {
public:
    UnixGroup(const ProcessLock& lock, const ExternalSocketRestore& carried, const files::PathRemaps& remaps)
        : lock_(lock), carried_(carried), remaps_(remaps) {}

    void add(UnixSocket& socket) { sockets_.push_back(&socket); }
    /// Whether the group binds or looks up paths, during which no other process may do so (ProcessLock).
    [[nodiscard]] bool usesPaths() const;

    [[nodiscard]] std::string describe() const override;
    void open(files::FileOpener& opener) override;
    void complete(files::PlacedFiles& placed) override;
    [[nodiscard]] const FownEntry* owner(FileId id) const override;
    [[nodiscard]] std::vector<FileId> needs() const override;
    /// Names in file systems connect sockets of several network and mount namespaces.
    [[nodiscard]] bool spansNamespaces() const override { return true; }

    [[nodiscard]] std::span<UnixSocket* const> sockets() const { return sockets_; }

    /// How packets get into a queue.
    struct Route {
        FileId member;                   ///< the socket that sends
        std::shared_ptr<UniqueFd> held;  ///< or one that exists only to send
        std::string to;                  ///< address of the target, if the sender isn't connected there
        std::shared_ptr<UniqueFd> file;  ///< which may be this file

        /// `find`: descriptors of members.
        void send(QueueFiller& filler, const QueuedPacket& packet, const std::function<int(FileId)>& find,
                  const kernel::Usernsd* usernsd) const;
    };
    /// Something to be sent when all processes exist, since its sender is named in it.
    struct Deferred {
        const QueuedPacket* packet = nullptr;
        Route route;
    };

private:
    friend class UnixGroupOpener;

    const ProcessLock& lock_;
    const ExternalSocketRestore& carried_;
    const files::PathRemaps& remaps_;
    std::vector<UnixSocket*> sockets_;
    std::vector<Deferred> deferred_;
    std::vector<const UnixSocket*> given_;  ///< from outside or by a carrier: they are as they are
};

}  // namespace criu::sockets
