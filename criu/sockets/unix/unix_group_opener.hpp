// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "criu/files/file_opener.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/sockets/unix/unix_group.hpp"

namespace criu::files {
struct HiddenDirectory;
}

namespace criu::sockets {

/// Creates all sockets of a Unix group with their names, connections and queues, except deferred packets.
/// UnixGroup::complete() sets options, shutdown state and flags.
class UnixGroupOpener {
public:
    UnixGroupOpener(UnixGroup& group, files::FileOpener& opener);

    void run();

private:
    /// Backlog of listeners during the restore. It is large, so that connect(2) doesn't block.
    static constexpr int kWideBacklog = 1 << 16;

    // Functions for sockets of all types.
    [[nodiscard]] bool made(const UnixSocket& socket) const { return made_.contains(&socket); }
    [[nodiscard]] int fdOf(const UnixSocket& socket) const;
    /// Creates a socket in the network namespace of the dumped socket `of`.
    [[nodiscard]] UniqueFd create(int type, const UnixSocket& of) const;
    /// Creates a socket pair. Its descriptors have their final numbers, or numbers in the service range. `peer`: the
    /// other end; null if no process has it.
    [[nodiscard]] std::pair<UniqueFd, UniqueFd> createPair(const UnixSocket& socket, const UnixSocket* peer);
    void provide(UnixSocket& socket, UniqueFd fd);
    void giveName(UnixSocket& socket);
    /// Returns the covered directory that contains the name. Returns null if no other mount covers the path.
    [[nodiscard]] const files::HiddenDirectory* hiddenPlaceOf(const UnixName& name) const;
    void connectTo(int fd, const UnixSocket& target);
    /// Calls `work` with the credentials `doer`, because the kernel records the caller's credentials for SO_PEERCRED.
    /// If `doer` is empty, uses criu's credentials.
    void as(const std::optional<kernel::Identity>& doer, const std::function<void()>& work);
    void listenAs(int fd, int backlog, const UnixSocket& peer);
    void warnOfPeers();
    void connectOutside(UnixSocket& socket);
    /// Puts into `made_` the sockets that the user passed by --inherit-fd or that plugins restored.
    void adoptGiven();
    void answerAsService(UnixSocket& socket);

    /// Sends the dumped packets into the queue of `target`, or adds them to the deferred packets. `usual`: route for
    /// packets whose sender is unknown.
    void fill(const UnixSocket& target, const UnixGroup::Route& usual);
    [[nodiscard]] static UnixGroup::Route via(const UnixSocket& sender);
    [[nodiscard]] static UnixGroup::Route via(UniqueFd passing);

    // Streams and sequenced packets (unix_stream_open.cpp).
    void openStandalone(UnixSocket& socket);
    void openEnds(UnixSocket& one);
    void fillEnd(UnixSocket& socket);
    [[nodiscard]] const UnixSocket* listenerOf(const UnixSocket& accepted) const;
    bool openAccepted(UnixSocket& accepted, UnixSocket* other, UniqueFd& rest);

    // Datagrams (unix_datagram_open.cpp).
    void openDatagram(UnixSocket& socket);
    void connectAndFillDatagram(UnixSocket& socket);
    void fillDatagram(UnixSocket& socket);
    std::shared_ptr<UniqueFd> standIn(const std::string& address, const UnixSocket& target);
    [[nodiscard]] UnixGroup::Route routeOf(const UnixSocket& target, std::size_t packet, const UnixGroup::Route& usual);
    [[nodiscard]] static bool hasOtherSenders(const UnixSocket& socket);
    void disconnect(const UnixSocket& socket) const;

    UnixGroup& group_;
    files::FileOpener& opener_;
    QueueFiller filler_;
    std::set<const UnixSocket*> made_;
    std::set<const UnixSocket*> connected_;
    std::set<const UnixSocket*> visited_;
    std::set<const UnixSocket*> filled_;
    /// O_PATH descriptors of the files of sockets with a path. connect(2) reaches the socket by such a descriptor even
    /// after the path is removed.
    std::map<const UnixSocket*, std::shared_ptr<UniqueFd>> files_;
    /// Temporary peers of sockets without a peer in the group. They fill the queues of these sockets.
    std::map<const UnixSocket*, UniqueFd> senders_;
    /// Stand-ins for closed senders; the key is the sender's name.
    std::map<std::string, std::shared_ptr<UniqueFd>> gone_;
    /// True if a restored socket has criu's credentials as its peer credentials, because the images contain none.
    bool unknownPeer_ = false;
};

}  // namespace criu::sockets
