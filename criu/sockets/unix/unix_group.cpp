// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/unix/unix_group.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/sockets/socket_options.hpp"
#include "criu/sockets/unix/unix_group_opener.hpp"
#include "criu/sockets/unix/unix_peer.hpp"

namespace criu::sockets {

std::uint32_t networkOf(const UnixSkEntry& entry) {
    return entry.has_ns_id != 0 ? entry.ns_id : 0;
}

SocketType typeOf(const UnixSkEntry& entry) {
    return {AF_UNIX, static_cast<int>(entry.type), 0};
}

bool UnixSocket::datagram() const {
    return entry->type == SOCK_DGRAM;
}

std::string UnixSocket::shown() const {
    if (name.empty())
        return fmt::format("socket:[{}]", entry->ino);
    return fmt::format("socket:[{}] ({})", entry->ino, name.shown());
}

std::string UnixGroup::describe() const {
    std::string text = "unix ";
    constexpr std::size_t kShown = 3;
    for (std::size_t i = 0; i < sockets_.size() && i < kShown; ++i)
        text += (i == 0 ? "" : ", ") + sockets_[i]->shown();
    if (sockets_.size() > kShown)
        text += fmt::format(" and {} more", sockets_.size() - kShown);
    return text;
}

const FownEntry* UnixGroup::owner(FileId id) const {
    for (const UnixSocket* const socket : sockets_)
        if (socket->id == id)
            return socket->entry->fown;
    return nullptr;
}

std::vector<FileId> UnixGroup::needs() const {
    std::vector<FileId> ids;
    for (const UnixSocket* const socket : sockets_)
        for (const QueuedPacket& packet : socket->queue)
            ids.insert(ids.end(), packet.rights.begin(), packet.rights.end());
    return ids;
}

bool UnixGroup::usesPaths() const {
    const auto sentFromPath = [](const QueuedPacket& packet) {
        return !packet.address.empty() && packet.address.front() != '\0';
    };
    return std::any_of(sockets_.begin(), sockets_.end(), [&](const UnixSocket* socket) {
        return socket->name.isPath() || std::any_of(socket->queue.begin(), socket->queue.end(), sentFromPath);
    });
}

void UnixGroup::Route::send(QueueFiller& filler, const QueuedPacket& packet, const std::function<int(FileId)>& find,
                            const kernel::Usernsd* usernsd) const {
    const int sender = held ? held->get() : find(member);
    raiseSendBuffer(sender, usernsd);
    filler.send(sender, packet, file ? fmt::format("/proc/self/fd/{}", file->get()) : to);
}

void UnixGroup::open(files::FileOpener& opener) {
    std::optional<ProcessLock::Held> held;
    if (usesPaths())
        held.emplace(lock_);
    UnixGroupOpener(*this, opener).run();
}

void UnixGroup::complete(files::PlacedFiles& placed) {
    const auto find = [&placed](FileId id) { return placed.find(id); };
    QueueFiller filler(
        placed.images(), find, [](UniqueFd fd) { return fd; }, [&placed](TreePid who) { return placed.numberOf(who); });
    for (const Deferred& deferred : deferred_)
        deferred.route.send(filler, *deferred.packet, find, placed.usernsd());
    deferred_.clear();
    for (const UnixSocket* const socket : sockets_) {
        if (std::find(given_.begin(), given_.end(), socket) != given_.end())
            continue;
        const UnixSkEntry& entry = *socket->entry;
        const int fd = placed.find(socket->id);
        if (fd < 0)
            fail("{} isn't open where it should be", socket->shown());
        const ErrorContext context([&] { return socket->shown(); });
        if (socket->in(kernel::UnixState::Listen)) {
            const auto listen = [&] {
                sys(::listen(fd, static_cast<int>(entry.backlog)), "listen with a backlog of {}", entry.backlog);
            };
            if (const auto listener = peerOf(entry))
                kernel::withIdentity(*listener, listen);
            else
                listen();
        }
        restoreOwner(fd, entry);
        restoreSocketOptions(fd, *entry.opts, placed.log(), placed.usernsd(),
                             fresh_.of(networkOf(entry), typeOf(entry)));
        if (entry.has_shutdown != 0 && entry.shutdown != SK_SHUTDOWN__NONE)  // images store SHUT_RD (0) as 1
            sys(::shutdown(fd, static_cast<int>(entry.shutdown) - 1), "shut down");
        sys(::fcntl(fd, F_SETFL, static_cast<int>(entry.flags)), "set flags {:#o}", entry.flags);
    }
}

}  // namespace criu::sockets
