// SPDX-License-Identifier: GPL-2.0-only
#include <sys/socket.h>
#include <sys/un.h>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/sockets/unix/unix_group_opener.hpp"

// The kernel has these rules for datagram sockets. A socket with a peer accepts connections and messages only from this
// peer. A socket without a name can be connected to only by socketpair(2). A connect(2) to another peer empties the
// queue of the socket.

namespace criu::sockets {
namespace {

/// True if the dumped socket was connected to a socket that was then closed. The kernel ends such a connection only
/// when the connected socket sends.
bool lostPeer(const UnixSocket& socket) {
    return socket.entry->has_peer_lost != 0 && socket.entry->peer_lost != 0 && socket.entry->peer == 0;
}

UnixName nameOf(int fd) {
    sockaddr_un address{};
    socklen_t length = sizeof(address);
    sys(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), "read the name of a socket");
    UnixName name;
    name.text.assign(address.sun_path, length - offsetof(sockaddr_un, sun_path));
    return name;
}

void bindAnywhere(int fd) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    sys(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address.sun_family)), "bind a socket");
}

}  // namespace

void UnixGroupOpener::disconnect(const UnixSocket& socket) const {
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    sys(::connect(fdOf(socket), &nobody, sizeof(nobody.sa_family)), "disconnect {}", socket.shown());
}

void UnixGroupOpener::openDatagram(UnixSocket& socket) {
    if (made(socket))
        return;
    if (socket.has(UnixFlag::Callback))
        fail("{} was dumped by a plugin, which is needed to restore it", socket.shown());
    if (!socket.name.empty()) {
        provide(socket, create(SOCK_DGRAM, socket));
        giveName(socket);
        return;
    }
    if (socket.peer != nullptr && socket.peer->name.empty() && !socket.mutual()) {
        openDatagram(*socket.peer);  // may create both sockets by socketpair(2)
        if (made(socket))
            return;
    }
    UnixSocket* const partner = socket.mutual() && socket.peer != &socket ? socket.peer
                                : socket.incoming.empty()                 ? nullptr
                                                                          : socket.incoming[0];
    if (socket.incoming.size() > (socket.mutual() ? 0 : 1) || (partner != nullptr && made(*partner)))
        fail("{} has no name, but more than one socket is connected to it", socket.shown());
    if (partner == nullptr && socket.queue.empty() && !lostPeer(socket)) {
        provide(socket, create(SOCK_DGRAM, socket));
        return;
    }
    auto [end, other] = createPair(socket, partner);
    provide(socket, std::move(end));
    if (partner != nullptr) {
        provide(*partner, std::move(other));
        connected_.insert(partner);
        giveName(*partner);
    } else {
        senders_[&socket] = std::move(other);
    }
    if (socket.mutual() || lostPeer(socket))
        connected_.insert(&socket);
    else
        disconnect(socket);
}

void UnixGroupOpener::connectAndFillDatagram(UnixSocket& socket) {
    if (!visited_.insert(&socket).second)
        return;
    // Connects the other sockets first: when this socket has a peer, only that peer may connect to it.
    for (UnixSocket* const caller : socket.incoming)
        connectAndFillDatagram(*caller);

    const bool ready = connected_.contains(&socket);
    if (socket.mutual()) {
        if (!ready && hasOtherSenders(socket))
            fillDatagram(socket);  // a connected socket takes packets of its peer only
        if (!ready)
            connectTo(fdOf(socket), *socket.peer);
        connected_.insert(&socket);
        if (connected_.contains(socket.peer)) {
            fillDatagram(socket);
            if (socket.peer != &socket)
                fillDatagram(*socket.peer);
        }
        return;
    }
    if (lostPeer(socket) && !ready) {
        UniqueFd lost = opener_.toServiceRange(create(SOCK_DGRAM, socket));
        bindAnywhere(lost.get());
        connectTo(lost.get(), socket);
        connectName(fdOf(socket), nameOf(lost.get()), -1);
        senders_[&socket] = std::move(lost);
    }
    fillDatagram(socket);
    if (ready)
        return;
    if (socket.peer != nullptr)
        connectTo(fdOf(socket), *socket.peer);
    else if (socket.outside != nullptr)
        connectOutside(socket);
    connected_.insert(&socket);
}

void UnixGroupOpener::fillDatagram(UnixSocket& socket) {
    if (socket.queue.empty() || !filled_.insert(&socket).second)
        return;
    if (const auto own = senders_.find(&socket); own != senders_.end()) {
        fill(socket, via(std::move(own->second)));
    } else if (socket.mutual()) {
        fill(socket, via(*socket.peer));
    } else if (!socket.incoming.empty()) {
        fill(socket, via(*socket.incoming.front()));
    } else {
        UniqueFd passing = opener_.toServiceRange(create(SOCK_DGRAM, socket));
        connectTo(passing.get(), socket);
        fill(socket, via(std::move(passing)));
    }
}

// recvfrom(2) returns the name of the socket that sent a packet. So the packet must come from the restored sender, or
// from a stand-in with the same name. An unnamed sender has an unnamed stand-in.
UnixGroup::Route UnixGroupOpener::routeOf(const UnixSocket& target, std::size_t packet, const UnixGroup::Route& usual) {
    const std::string& address = target.queue[packet].address;
    const UnixSocket* const sender = target.senders[packet];
    const UnixSocket* const caller = target.mutual()           ? target.peer
                                     : target.incoming.empty() ? nullptr
                                                               : target.incoming.front();
    const bool usualIsNamed = usual.held == nullptr && caller != nullptr && !caller->name.empty();
    if (target.mutual() && connected_.contains(&target)) {
        if (sender != target.peer && (usualIsNamed || !address.empty()))
            opener_.log().warn("What waits in {} loses the name of its sender, because only its peer may send to it",
                               target.shown());
        return usual;
    }
    if (sender != nullptr && sender->peer == &target && connected_.contains(sender))
        return via(*sender);
    if (target.name.empty() || (address.empty() && !usualIsNamed))
        return usual;
    UnixGroup::Route route;
    if (sender != nullptr) {
        route = via(*sender);
    } else {
        route.held = standIn(address, target);
        if (!route.held)
            return usual;
    }
    route.to = target.name.address();
    if (const auto file = files_.find(&target); file != files_.end())
        route.file = file->second;
    return route;
}

/// Returns true if sockets other than its peer have sent packets to a socket. Both must have names.
bool UnixGroupOpener::hasOtherSenders(const UnixSocket& socket) {
    return !socket.name.empty() && !socket.peer->name.empty() &&
           std::any_of(socket.senders.begin(), socket.senders.end(),
                       [&](const UnixSocket* sender) { return sender != socket.peer; });
}

std::shared_ptr<UniqueFd> UnixGroupOpener::standIn(const std::string& address, const UnixSocket& target) {
    const auto [found, fresh] = gone_.emplace(address, nullptr);
    if (fresh) {
        UnixName name;
        name.text = address;
        auto sender = std::make_shared<UniqueFd>(opener_.toServiceRange(create(SOCK_DGRAM, target)));
        try {
            if (!address.empty())
                bindName(sender->get(), name, PathFate::Removed, nullptr);
            found->second = std::move(sender);
        } catch (const Error& error) {
            opener_.log().warn("What waits in {} loses the name of its sender: {}", target.shown(), error.what());
        }
    }
    return found->second;
}

}  // namespace criu::sockets
