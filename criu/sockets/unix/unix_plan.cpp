// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/unix/unix_plan.hpp"

#include <sys/socket.h>
#include <boost/pending/disjoint_sets.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/files/open_fd.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

using kernel::UnixState;

void check(const UnixSkEntry& entry) {
    const auto state = static_cast<UnixState>(entry.state);
    if (entry.type != SOCK_STREAM && entry.type != SOCK_DGRAM && entry.type != SOCK_SEQPACKET)
        fail("socket:[{}] has type {}, which unix sockets can't have", entry.ino, entry.type);
    if (state != UnixState::Established && state != UnixState::Close && state != UnixState::Listen)
        fail("socket:[{}] has state {}, which unix sockets can't have", entry.ino, entry.state);
    if (entry.has_shutdown != 0 && (entry.shutdown < SK_SHUTDOWN__NONE || entry.shutdown > SK_SHUTDOWN__BOTH))
        fail("socket:[{}] has an unknown shutdown state, {}", entry.ino, static_cast<int>(entry.shutdown));
}

}  // namespace

void UnixPlan::load(files::FileRestore& restore) {
    queues_.load(restore.images());
    for (const FileEntry* const file : restore.entries(FD_TYPES__UNIXSK)) {
        if (file->usk == nullptr)
            fail("file {} is a unix socket without data", file->id);
        check(*file->usk);
        UnixSocket& socket = sockets_.emplace_back();
        socket.entry = file->usk;
        socket.id = FileId{file->id};
        socket.name = UnixName::of(*file->usk);
        socket.queue = queues_.of(socket.id);
        byId_.emplace(socket.id, &socket);
        if (!byInode_.emplace(file->usk->ino, &socket).second)
            fail("the images have socket:[{}] twice", file->usk->ino);
    }
    for (UnixSocket& socket : sockets_)
        if (socket.entry->peer != 0)
            linkPeer(socket);
    for (UnixSocket& socket : sockets_)
        if (socket.peer != nullptr && !socket.mutual())
            socket.peer->incoming.push_back(&socket);
    linkListeners();
    linkSenders();
    makeGroups();
}

void UnixPlan::linkPeer(UnixSocket& socket) {
    const auto found = byInode_.find(socket.entry->peer);
    if (found == byInode_.end())
        fail("{} is connected to socket:[{}], which the images don't have", socket.shown(), socket.entry->peer);
    UnixSocket& peer = *found->second;
    if (peer.has(UnixFlag::Outside)) {
        socket.outside = &peer;
        return;
    }
    if (peer.entry->type != socket.entry->type)
        fail("{} is connected to {}, a socket of another type", socket.shown(), peer.shown());
    if (socket.datagram()) {
        socket.peer = &peer;
    } else if (peer.in(UnixState::Listen)) {
        socket.acceptor = &peer;
    } else {
        if (peer.entry->peer != socket.entry->ino)
            fail("{} is connected to {}, but not the reverse", socket.shown(), peer.shown());
        socket.peer = &peer;
    }
}

void UnixPlan::linkListeners() {
    using Key = std::tuple<std::uint32_t, std::string, std::string, std::string, int, bool>;
    const auto keyOf = [](const UnixSocket& socket) {
        const UnixName& name = socket.name;
        return Key{socket.entry->type, name.text, name.directory, name.place, name.mount, name.deleted};
    };
    std::map<Key, UnixSocket*> listeners;
    for (UnixSocket& socket : sockets_)
        if (!socket.name.empty() && socket.in(UnixState::Listen) && !socket.has(UnixFlag::Outside))
            listeners.emplace(keyOf(socket), &socket);
    for (UnixSocket& socket : sockets_)
        if (socket.isEnd() && !socket.name.empty())
            if (const auto found = listeners.find(keyOf(socket)); found != listeners.end())
                socket.listener = found->second;
}

void UnixPlan::linkSenders() {
    // The kernel shows the sender's path, but not its mount namespace. If sockets of several namespaces have this path,
    // chooses the one in the receiver's namespace.
    std::map<std::string_view, std::vector<UnixSocket*>> datagrams;
    for (UnixSocket& socket : sockets_)
        if (socket.datagram() && !socket.name.empty() && !socket.has(UnixFlag::Outside))
            datagrams[socket.name.text].push_back(&socket);
    for (UnixSocket& socket : sockets_)
        for (const QueuedPacket& packet : socket.queue) {
            const std::vector<UnixSocket*>& named = datagrams[packet.address];
            const auto beside = std::find_if(named.begin(), named.end(), [&](const UnixSocket* other) {
                return other->name.mount == socket.name.mount;
            });
            socket.senders.push_back(beside != named.end() ? *beside : named.empty() ? nullptr : named.front());
        }
}

void UnixPlan::makeGroups() {
    std::unordered_map<const UnixSocket*, std::size_t> numbers;
    for (const UnixSocket& socket : sockets_)
        numbers.emplace(&socket, numbers.size());
    boost::disjoint_sets_with_storage<> sets(numbers.size());
    const auto tie = [&](const UnixSocket& one, const UnixSocket* other) {
        if (other != nullptr)
            sets.union_set(numbers.at(&one), numbers.at(other));
    };
    std::map<std::tuple<int, std::string, std::string>, UnixSocket*> paths;
    for (UnixSocket& socket : sockets_) {
        if (socket.has(UnixFlag::Outside))
            continue;
        for (UnixSocket* const other : {socket.peer, socket.acceptor, socket.listener})
            tie(socket, other);
        for (UnixSocket* const sender : socket.senders)
            tie(socket, sender);
        for (const QueuedPacket& packet : socket.queue)
            for (const FileId right : packet.rights)
                if (const auto found = byId_.find(right); found != byId_.end())
                    tie(socket, found->second);
        // Puts sockets with the same path into one group: after one socket had lost the path, the program bound another
        // socket to it.
        if (socket.name.isPath())
            tie(socket, paths.emplace(std::tuple(socket.name.mount, socket.name.directory, socket.name.text), &socket)
                            .first->second);
    }
    /// Unix groups; the key is the number of a set of sockets that must be in one group.
    std::unordered_map<std::size_t, std::shared_ptr<UnixGroup>> groups;
    for (UnixSocket& socket : sockets_) {
        if (socket.has(UnixFlag::Outside))
            continue;
        auto& group = groups[sets.find_set(numbers.at(&socket))];
        if (!group)
            group = std::make_shared<UnixGroup>(lock_, externalSockets_, remaps_, fresh_);
        group->add(socket);
        groups_.emplace(socket.id, group);
    }
}

std::shared_ptr<UnixGroup> UnixPlan::groupOf(FileId id) const {
    const auto found = groups_.find(id);
    if (found == groups_.end())
        fail("file {} is a unix socket outside of the tree", id);
    return found->second;
}

std::map<int, std::map<std::string, bool>> directoriesOfNames(std::span<const FileEntry* const> entries) {
    std::map<int, std::map<std::string, bool>> all;
    for (const FileEntry* const file : entries) {
        if (file->usk == nullptr || (file->usk->uflags & static_cast<std::uint32_t>(UnixFlag::Outside)) != 0)
            continue;
        const UnixName name = UnixName::of(*file->usk);
        if (name.isPath() && name.mount > 0) {
            bool& stays = all[name.mount][parentDirectory(name.path())];
            stays = stays || !name.deleted;
        }
    }
    return all;
}

}  // namespace criu::sockets
