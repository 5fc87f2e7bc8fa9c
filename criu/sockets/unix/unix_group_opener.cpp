// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/unix/unix_group_opener.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/regular.hpp"
#include "criu/model/options.hpp"
#include "criu/sockets/unix/unix_peer.hpp"
#include "images/rpc.hpp"

namespace criu::sockets {

UnixGroupOpener::UnixGroupOpener(UnixGroup& group, files::FileOpener& opener)
    : group_(group),
      opener_(opener),
      filler_(
          opener.images(), [&opener](FileId id) { return opener.find(id); },
          [&opener](UniqueFd fd) { return opener.toServiceRange(std::move(fd)); },
          [&opener](TreePid who) { return opener.numberOf(who); }) {}

void UnixGroupOpener::run() {
    adoptGiven();
    // Sockets with deleted names come first: later, another dumped socket may be bound to the same name.
    std::vector<UnixSocket*> sockets(group_.sockets_);
    std::stable_partition(sockets.begin(), sockets.end(),
                          [](const UnixSocket* socket) { return socket->name.deleted; });

    for (UnixSocket* const socket : sockets)
        if (!socket->datagram() && !socket->isEnd())
            openStandalone(*socket);
    for (UnixSocket* const socket : sockets)
        if (socket->isEnd())
            openEnds(*socket);
    // connects clients whose connections aren't accepted yet, in the dumped order of their connect(2) calls
    for (UnixSocket* const socket : group_.sockets_)
        if (socket->acceptor != nullptr && !connected_.contains(socket)) {
            listenAs(fdOf(*socket->acceptor), kWideBacklog, *socket);
            as(callerOf(*socket->entry), [&] { connectTo(fdOf(*socket), *socket->acceptor); });
        }
    // Unnamed sockets come first, because only socketpair(2) can connect to an unnamed socket.
    std::stable_partition(sockets.begin(), sockets.end(),
                          [](const UnixSocket* socket) { return socket->name.empty(); });
    for (UnixSocket* const socket : sockets)
        if (socket->datagram())
            openDatagram(*socket);
    // Fills the queues when all sockets of the group exist, because a queue may contain one of these sockets in flight.
    for (UnixSocket* const socket : sockets)
        if (socket->isEnd() && !connected_.contains(socket))
            fillEnd(*socket);
    for (UnixSocket* const socket : sockets)
        if (socket->datagram())
            connectAndFillDatagram(*socket);
    warnOfPeers();
}

int UnixGroupOpener::fdOf(const UnixSocket& socket) const {
    const int fd = opener_.find(socket.id);
    if (fd < 0)
        fail("{} isn't open yet", socket.shown());
    return fd;
}

UniqueFd UnixGroupOpener::create(int type, const UnixSocket& of) const {
    UniqueFd made;
    opener_.inNetwork(networkOf(*of.entry), [&] {
        made.reset(sys(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "create a unix socket"));
    });
    group_.fresh_.learn(networkOf(*of.entry), {AF_UNIX, type, 0}, made.get());
    return made;
}

void UnixGroupOpener::as(const std::optional<kernel::Identity>& doer, const std::function<void()>& work) {
    if (doer)
        return kernel::withIdentity(*doer, work);
    unknownPeer_ = true;
    work();
}

void UnixGroupOpener::listenAs(int fd, int backlog, const UnixSocket& peer) {
    as(peerOf(*peer.entry), [&] { sys(::listen(fd, backlog), "listen"); });
}

/// Warns once if SO_PEERCRED of a restored socket returns other credentials than in the dump.
void UnixGroupOpener::warnOfPeers() {
    if (unknownPeer_)
        opener_.log().warn("The images don't say who has made the connections of {}: SO_PEERCRED will name criu's user",
                           group_.describe());
    const pid_t self = ::getpid();
    const auto others = std::count_if(group_.sockets_.begin(), group_.sockets_.end(), [&](const UnixSocket* socket) {
        const UnixSkEntry& entry = *socket->entry;
        return entry.has_peer_pid != 0 && entry.peer_pid != 0 && static_cast<pid_t>(entry.peer_pid) != self;
    });
    if (others != 0)
        opener_.log().info("SO_PEERCRED of {} will name pid {}, which differs from the dumped pid for {} of them",
                           group_.describe(), self, others);
}

std::pair<UniqueFd, UniqueFd> UnixGroupOpener::createPair(const UnixSocket& socket, const UnixSocket* peer) {
    int ends[2];
    opener_.inNetwork(networkOf(*socket.entry), [&] {
        as(peerOf(*socket.entry), [&] {
            sys(::socketpair(AF_UNIX, static_cast<int>(socket.entry->type) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
                "create a pair of unix sockets");
        });
    });
    UniqueFd one(ends[0]);
    UniqueFd other(ends[1]);
    group_.fresh_.learn(networkOf(*socket.entry), typeOf(*socket.entry), one.get());
    one = opener_.settle(socket.id, std::move(one));
    other = peer != nullptr ? opener_.settle(peer->id, std::move(other)) : opener_.toServiceRange(std::move(other));
    return {std::move(one), std::move(other)};
}

void UnixGroupOpener::provide(UnixSocket& socket, UniqueFd fd) {
    made_.insert(&socket);
    opener_.provide(socket.id, std::move(fd));
}

void UnixGroupOpener::giveName(UnixSocket& socket) {
    if (socket.name.empty())
        return;
    UniqueFd file;
    opener_.onMount(socket.name.mount, [&] {
        file = bindName(fdOf(socket), socket.name, socket.name.deleted ? PathFate::Removed : PathFate::Kept,
                        hiddenPlaceOf(socket.name));
    });
    if (file)
        files_[&socket] = std::make_shared<UniqueFd>(opener_.toServiceRange(std::move(file)));
}

const files::HiddenDirectory* UnixGroupOpener::hiddenPlaceOf(const UnixName& name) const {
    if (!name.isPath())
        return nullptr;
    const std::string path = name.path();
    const files::HiddenDirectory* const hidden = group_.remaps_.findHidden(name.mount, path);
    // Returns null for a name in a non-root namespace, because bind(2) reaches this name by a path of that namespace.
    // Also returns null for a deleted name in a subdirectory, because the subdirectory may not exist.
    if (hidden == nullptr || hidden->path.empty() || (name.deleted && hidden->path != parentDirectory(path)))
        return nullptr;
    return hidden;
}

void UnixGroupOpener::connectTo(int fd, const UnixSocket& target) {
    const auto file = files_.find(&target);
    opener_.onMount(target.name.mount,
                    [&] { connectName(fd, target.name, file == files_.end() ? -1 : file->second->get()); });
}

void UnixGroupOpener::connectOutside(UnixSocket& socket) {
    if (!opener_.options().extUnixSockets) {
        Error error(0,
                    fmt::format("{} is connected to {}, outside of the tree", socket.shown(), socket.outside->shown()));
        error.addHint(fmt::format(
            "restore with --inherit-fd fd[N]:socket:[{}], N being a descriptor of criu{}", socket.entry->ino,
            socket.outside->name.empty() ? "" : ", or with --ext-unix-sk to connect it there again"));
        throw error;
    }
    if (socket.outside->name.empty()) {
        Error error(0, fmt::format("{} is connected to a socket outside of the tree that has no name", socket.shown()));
        error.addHint(fmt::format("provide it: --inherit-fd fd[N]:socket:[{}]", socket.entry->ino));
        throw error;
    }
    opener_.onMount(socket.outside->name.mount, [&] { connectName(fdOf(socket), socket.outside->name, -1); });
}

void UnixGroupOpener::adoptGiven() {
    for (UnixSocket* const socket : group_.sockets_) {
        UniqueFd given;
        const int inherited = opener_.inherited(fmt::format("socket:[{}]", socket->entry->ino));
        if (inherited >= 0)
            given.reset(sys(::fcntl(inherited, F_DUPFD_CLOEXEC, 0), "copy inherited fd {}", inherited));
        else if (socket->has(UnixFlag::Callback)) {
            opener_.onMount(socket->name.mount, [&] { freeName(socket->name, hiddenPlaceOf(socket->name)); });
            given = group_.externalSockets_.open(socket->entry->ino);
        }
        if (!given)
            continue;
        group_.given_.push_back(socket);
        connected_.insert(socket);
        visited_.insert(socket);
        provide(*socket, std::move(given));
    }
}

void UnixGroupOpener::answerAsService(UnixSocket& socket) {
    // Answers the client's dump request. The field `restored` of the answer is true, so that the client knows that it
    // was restored.
    auto [end, service] = createPair(socket, nullptr);
    CriuDumpResp dump = CRIU_DUMP_RESP__INIT;
    dump.has_restored = 1;
    dump.restored = 1;
    CriuResp answer = CRIU_RESP__INIT;
    answer.type = CRIU_REQ_TYPE__DUMP;
    answer.success = 1;
    answer.dump = &dump;
    std::vector<std::uint8_t> bytes(::criu_resp__get_packed_size(&answer));
    ::criu_resp__pack(&answer, bytes.data());
    if (::send(service.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
        failErrno("answer {}, a client of the criu service", socket.shown());
    provide(socket, std::move(end));
}

UnixGroup::Route UnixGroupOpener::via(const UnixSocket& sender) {
    UnixGroup::Route route;
    route.member = sender.id;
    return route;
}

UnixGroup::Route UnixGroupOpener::via(UniqueFd passing) {
    UnixGroup::Route route;
    route.held = std::make_shared<UniqueFd>(std::move(passing));
    return route;
}

void UnixGroupOpener::fill(const UnixSocket& target, const UnixGroup::Route& usual) {
    // Defers packets with a sender's pid, because the kernel accepts this pid only when that process exists. The target
    // must still accept packets at that time.
    const bool named = std::any_of(target.queue.begin(), target.queue.end(),
                                   [](const QueuedPacket& packet) { return packet.sender.has_value(); });
    const bool accepts = !target.datagram() || (target.mutual() && connected_.contains(&target)) ||
                         (target.peer == nullptr && target.outside == nullptr);
    for (std::size_t i = 0; i < target.queue.size(); ++i) {
        const QueuedPacket& packet = target.queue[i];
        const UnixGroup::Route route = target.datagram() ? routeOf(target, i, usual) : usual;
        if (named && accepts)
            group_.deferred_.push_back(UnixGroup::Deferred{&packet, route});
        else
            route.send(
                filler_, packet, [this](FileId id) { return opener_.find(id); }, opener_.usernsd());
    }
}

}  // namespace criu::sockets
