// SPDX-License-Identifier: GPL-2.0-only
#include <sys/socket.h>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/sockets/unix/unix_group_opener.hpp"
#include "criu/sockets/unix/unix_peer.hpp"

namespace criu::sockets {

void UnixGroupOpener::openStandalone(UnixSocket& socket) {
    if (made(socket))
        return;
    if (socket.has(UnixFlag::Callback))
        fail("{} was dumped by a plugin, which is needed to restore it", socket.shown());
    if (socket.has(UnixFlag::Service)) {
        answerAsService(socket);
        return;
    }
    provide(socket, create(static_cast<int>(socket.entry->type), socket));
    giveName(socket);
    if (socket.in(kernel::UnixState::Listen))
        listenAs(fdOf(socket), kWideBacklog, socket);
    if (socket.outside != nullptr)
        connectOutside(socket);
}

void UnixGroupOpener::openEnds(UnixSocket& one) {
    UnixSocket* const other = one.peer;
    if (made(one)) {
        if (other != nullptr && !made(*other))
            fail("{} is given by --inherit-fd, but not its other end, {}", one.shown(), other->shown());
        return;
    }
    // The name of an accepted socket is the name of its listener. The kernel gives it this name only in accept(2).
    UniqueFd rest;  // other end of the connection, if no process of the tree has this end
    bool accepted = false;
    if (listenerOf(one) != nullptr)
        accepted = openAccepted(one, other, rest);
    else if (other != nullptr && listenerOf(*other) != nullptr)
        accepted = openAccepted(*other, &one, rest);
    else if (!one.name.empty())
        accepted = openAccepted(one, other, rest);
    else if (other != nullptr && !other->name.empty())
        accepted = openAccepted(*other, &one, rest);
    if (!accepted) {
        auto [end, otherEnd] = createPair(one, other);
        if (other != nullptr && peerOf(*one.entry) != peerOf(*other->entry))
            opener_.log().warn("{} and {} will say that the same user has made them both", one.shown(), other->shown());
        provide(one, std::move(end));
        if (other != nullptr)
            provide(*other, std::move(otherEnd));
        else
            rest = std::move(otherEnd);
    }
    if (!rest)
        return;
    // The kernel gives the socket ECONNRESET when criu closes the other end with an unread byte (unix_release_sock() in
    // net/unix/af_unix.c).
    if (one.entry->has_error != 0 && one.entry->error != 0)
        sys(::send(fdOf(one), "", 1, MSG_NOSIGNAL | MSG_DONTWAIT), "send a byte to the other end of {}", one.shown());
    senders_[&one] = std::move(rest);
}

void UnixGroupOpener::fillEnd(UnixSocket& socket) {
    fill(socket, socket.peer != nullptr ? via(*socket.peer) : via(std::move(senders_[&socket])));
}

const UnixSocket* UnixGroupOpener::listenerOf(const UnixSocket& accepted) const {
    // Doesn't use a listener from --inherit-fd or a plugin, because it may have clients outside of the tree.
    return accepted.listener != nullptr && !connected_.contains(accepted.listener) ? accepted.listener : nullptr;
}

bool UnixGroupOpener::openAccepted(UnixSocket& accepted, UnixSocket* other, UniqueFd& rest) {
    const int type = static_cast<int>(accepted.entry->type);
    UniqueFd passing;  // temporary listener, if the dumped listener is closed
    UniqueFd file;
    const UnixSocket* const listener = listenerOf(accepted);
    if (listener == nullptr) {
        passing = opener_.toServiceRange(create(type, accepted));
        try {
            opener_.onMount(accepted.name.mount, [&] {
                file = bindName(passing.get(), accepted.name, PathFate::Removed, hiddenPlaceOf(accepted.name));
            });
        } catch (const Error& error) {
            if (error.code() != EADDRINUSE)
                throw;
            opener_.log().warn("{} loses its name, which others use now", accepted.shown());
            return false;
        }
        if (file)
            file = opener_.toServiceRange(std::move(file));
    }
    // Calls listen(2) with the dumped credentials: the client's peer credentials are those of the listener's most
    // recent listen(2).
    const int from = listener != nullptr ? fdOf(*listener) : passing.get();
    listenAs(from, kWideBacklog, other != nullptr ? *other : accepted);

    if (other != nullptr) {
        provide(*other, create(type, *other));
        giveName(*other);
    } else {
        rest = opener_.toServiceRange(create(type, accepted));
    }
    const int caller = other != nullptr ? fdOf(*other) : rest.get();
    as(peerOf(*accepted.entry), [&] {
        if (listener != nullptr)
            connectTo(caller, *listener);
        else
            opener_.onMount(accepted.name.mount, [&] { connectName(caller, accepted.name, file.get()); });
    });
    provide(accepted, UniqueFd(sys(::accept4(from, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK),
                                   "accept the other end of {}", accepted.shown())));
    return true;
}

}  // namespace criu::sockets
