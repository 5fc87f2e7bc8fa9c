// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <set>

#include "criu/sockets/unix_group.hpp"

namespace criu::sockets {

/// Makes all sockets of a group: names, connections, and what waits in queues unless that has to be put off. Options,
/// shutdown and flags are left to UnixGroup::complete().
class UnixGroupOpener {
public:
    UnixGroupOpener(UnixGroup& group, files::FileOpener& opener);

    void run();

private:
    // What is common to all types.
    [[nodiscard]] bool made(const UnixSocket& socket) const { return made_.contains(&socket); }
    [[nodiscard]] int fdOf(const UnixSocket& socket) const;
    [[nodiscard]] UniqueFd create(int type) const;
    /// Both ends beyond the numbers that provide() needs.
    [[nodiscard]] std::pair<UniqueFd, UniqueFd> createPair(int type) const;
    void provide(UnixSocket& socket, UniqueFd fd);
    void giveName(UnixSocket& socket);
    void connectTo(int fd, const UnixSocket& target);
    void connectOutside(UnixSocket& socket);
    void adoptInherited();
    void answerAsService(UnixSocket& socket);

    /// Fills the queue of `target` through `sender`, now or later; `from`: which socket of the group that is, or null
    /// for one that is closed afterwards.
    void fill(const UnixSocket& target, UniqueFd held, const UnixSocket* from);

    // Streams and sequenced packets (unix_stream_open.cpp).
    void openStandalone(UnixSocket& socket);
    void openEnds(UnixSocket& one);
    [[nodiscard]] const UnixSocket* listenerOf(const UnixSocket& accepted) const;
    bool openAccepted(UnixSocket& accepted, UnixSocket* other, UniqueFd& rest);

    // Datagrams (unix_datagram_open.cpp).
    void openDatagram(UnixSocket& socket);
    void settleDatagram(UnixSocket& socket);
    void fillDatagram(UnixSocket& socket);
    void disconnect(const UnixSocket& socket) const;

    UnixGroup& group_;
    files::FileOpener& opener_;
    QueueFiller filler_;
    std::set<const UnixSocket*> made_;
    std::set<const UnixSocket*> connected_;
    std::set<const UnixSocket*> settled_;
    std::map<const UnixSocket*, UniqueFd> files_;    ///< of those with a path: leads there without the name
    std::map<const UnixSocket*, UniqueFd> senders_;  ///< for queues that nobody of the group can fill
};

}  // namespace criu::sockets
