// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "criu/files/file_opener.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/sockets/unix_group.hpp"

namespace criu::files {
struct HiddenDirectory;
}

namespace criu::sockets {

/// Makes all sockets of a group: names, connections, and what waits in queues unless that has to be put off. Options,
/// shutdown and flags are left to UnixGroup::complete().
class UnixGroupOpener {
public:
    UnixGroupOpener(UnixGroup& group, files::FileOpener& opener);

    void run();

private:
    /// While connections are made again, none of them may have to wait.
    static constexpr int kWideBacklog = 1 << 16;

    // What is common to all types.
    [[nodiscard]] bool made(const UnixSocket& socket) const { return made_.contains(&socket); }
    [[nodiscard]] int fdOf(const UnixSocket& socket) const;
    /// For `of`: in its network namespace.
    [[nodiscard]] UniqueFd create(int type, const UnixSocket& of) const;
    /// Both ends beyond the numbers that provide() needs.
    [[nodiscard]] std::pair<UniqueFd, UniqueFd> createPair(const UnixSocket& socket);
    void provide(UnixSocket& socket, UniqueFd fd);
    void giveName(UnixSocket& socket);
    /// The directory that its name is in or below, if other mounts cover that; else null.
    [[nodiscard]] const files::HiddenDirectory* hiddenPlaceOf(const UnixName& name) const;
    void connectTo(int fd, const UnixSocket& target);
    /// Does what the kernel remembers the doer of as whoever did it before, as far as that is known.
    void as(const std::optional<kernel::Identity>& doer, const std::function<void()>& work);
    void listenAs(int fd, int backlog, const UnixSocket& peer);
    void warnOfPeers();
    void connectOutside(UnixSocket& socket);
    /// Those that come from --inherit-fd or from carriers.
    void adoptGiven();
    void answerAsService(UnixSocket& socket);

    /// Fills the queue of `target`, now or later. `usual`: for packets that say nothing of their sender.
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
    void disconnect(const UnixSocket& socket) const;

    UnixGroup& group_;
    files::FileOpener& opener_;
    QueueFiller filler_;
    std::set<const UnixSocket*> made_;
    std::set<const UnixSocket*> connected_;
    std::set<const UnixSocket*> visited_;
    std::set<const UnixSocket*> filled_;
    /// Of those with a path: leads there without the name.
    std::map<const UnixSocket*, std::shared_ptr<UniqueFd>> files_;
    /// Other ends of those that have none in the group: for their queues.
    std::map<const UnixSocket*, UniqueFd> senders_;
    /// Stand for senders that are closed, by name.
    std::map<std::string, std::shared_ptr<UniqueFd>> gone_;
    bool unknownPeer_ = false;  ///< somebody has been taken for criu
};

}  // namespace criu::sockets
