// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/unix/unix_dump.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/refusals.hpp"
#include "criu/files/fown.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/proc/fd_holders.hpp"
#include "criu/model/options.hpp"
#include "criu/sockets/socket_options.hpp"
#include "criu/sockets/unix/unix_group.hpp"
#include "criu/sockets/unix/unix_name.hpp"
#include "criu/sockets/unix/unix_peer.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

using kernel::UnixSocketInfo;
using kernel::UnixState;

constexpr std::uint8_t kBothWays = 3;

void refuseUnknown(const UnixSocketInfo& info, const std::string& shown) {
    if (info.type != SOCK_STREAM && info.type != SOCK_DGRAM && info.type != SOCK_SEQPACKET)
        fail("{} is a unix socket of type {}, which can't be dumped", shown, info.type);
    if (info.state != UnixState::Established && info.state != UnixState::Close && info.state != UnixState::Listen)
        fail("{} is a unix socket in state {}, which can't be dumped", shown, static_cast<int>(info.state));
    // Before accept(2), no descriptor of the connection's server end exists. So criu can't read the data and the
    // shutdown state that a closed client left there.
    if (info.state == UnixState::Listen && std::count(info.pending.begin(), info.pending.end(), 0U) != 0)
        fail("a connection that waits to be accepted by {} was closed by its client already", shown);
}

bool isListed(const model::Options& options, std::uint32_t inode) {
    if (std::count(options.extUnixInodes.begin(), options.extUnixInodes.end(), inode) != 0)
        return true;
    const std::string id = std::to_string(inode);
    return std::any_of(options.externals.begin(), options.externals.end(), [&](const model::External& external) {
        return external.type == model::ExternalType::Unix && external.id == id;
    });
}

/// Returns true if the next call returns an error: ECONNRESET, because the peer has closed its end with unread data.
bool hasPendingError(int socket) {
    pollfd ask{socket, 0, 0};
    sys(::poll(&ask, 1, 0), "poll a socket");
    return (ask.revents & POLLERR) != 0;
}

/// Returns the socket's path, or its abstract name with @ in place of the first zero byte.
std::string shownName(const UnixSocketInfo& info) {
    std::string name = info.name;
    if (name.front() == '\0')
        name.front() = '@';
    else
        name.resize(std::min(name.find('\0'), name.size()));
    return name;
}

}  // namespace

void UnixDump::readAll(std::uint32_t network) {
    if (!read_.insert(network).second)
        return;
    for (UnixSocketInfo& info : kernel::readUnixSockets()) {
        for (const std::uint32_t client : info.pending)
            waitsFor_.emplace(client, info.inode);
        all_.emplace(info.inode, std::move(info));
    }
}

const UnixSocketInfo* UnixDump::find(std::uint32_t network, std::uint32_t inode) {
    readAll(network);
    if (const auto found = all_.find(inode); found != all_.end())
        return &found->second;
    auto missed = kernel::readUnixSocket(inode);
    return missed ? &all_.emplace(inode, std::move(*missed)).first->second : nullptr;
}

std::uint32_t UnixDump::peerOf(const UnixSocketInfo& info, const std::string& shown) const {
    if (info.peer.value_or(0) != 0)
        return *info.peer;
    if (info.type == SOCK_DGRAM || info.state != UnixState::Established)
        return 0;
    const auto waits = waitsFor_.find(info.inode);
    if (waits != waitsFor_.end()) {
        if (info.sendQueue != 0)
            fail("{} has sent data over a connection that isn't accepted yet, so it can't be read", shown);
        return waits->second;
    }
    if (info.shutdown != kBothWays)
        fail("{} is connected, but the kernel doesn't say to which socket", shown);
    return 0;
}

UnixSkEntry& UnixDump::prepare(const files::OpenFd& file, Arena& arena) {
    auto& out = *arena.make<UnixSkEntry>();
    out.ino = static_cast<std::uint32_t>(file.stat.st_ino);
    out.flags = file.statusFlags();
    out.fown = files::readOwner(file.copy.get(), arena);
    out.opts = dumpSocketOptions(file.copy.get(), AF_UNIX, arena);
    readPeer(file.copy.get(), out, arena);
    return out;
}

void UnixDump::add(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) {
    const std::string shown = file.describe();
    const auto inode = static_cast<std::uint32_t>(file.stat.st_ino);
    const UnixSocketInfo* const info = find(file.network, inode);
    if (info == nullptr)
        fail("{} isn't among the unix sockets the kernel lists", shown);
    refuseUnknown(*info, shown);

    auto& out = *reinterpret_cast<UnixSkEntry*>(file.prepared);
    entry.usk = &out;
    files::translateOwner(*out.fown, dump.ids(), dump.pids());
    translatePeer(out, dump.ids(), dump.pids());
    out.has_owner_uid = out.has_owner_gid = 1;
    out.owner_uid = dump.ids().seenUid(file.stat.st_uid);
    out.owner_gid = dump.ids().seenGid(file.stat.st_gid);
    out.id = entry.id;
    out.type = static_cast<std::uint32_t>(info->type);
    out.state = static_cast<std::uint32_t>(info->state);
    out.backlog = info->sendQueue;
    out.name = dump.arena().bytes(std::as_bytes(std::span(info->name)));
    out.has_ns_id = 1;
    out.ns_id = file.network;
    if (info->shutdown != 0) {
        out.has_shutdown = 1;
        out.shutdown = static_cast<SkShutdown>(info->shutdown);
    }
    if (!info->name.empty() && info->name.front() != '\0')
        dumpPath(file, info->name, info->file, out, dump, dump.arena());
    out.peer = peerOf(*info, shown);
    if (out.peer != 0 && out.peer == dump.options().serviceSocket) {
        // The peer is the criu service, to which a restore can't connect the socket. The flag makes the restore answer
        // the client's dump request.
        out.peer = 0;
        out.state = static_cast<std::uint32_t>(UnixState::Close);
        out.uflags |= static_cast<std::uint32_t>(UnixFlag::Service);
    }
    peers_.emplace(inode, out.peer);
    write(entry, file, dump);

    if (info->type == SOCK_DGRAM && info->peer == 0U) {
        out.has_peer_lost = 1;
        out.peer_lost = 1;
    }
    if (info->type == SOCK_DGRAM || info->state == UnixState::Established) {
        const ErrorContext context([&] { return shown; });
        const bool reset = info->type != SOCK_DGRAM && hasPendingError(file.copy.get());
        out.has_error = out.error = reset;
        const bool waits = info->receiveQueue != 0;
        // Warns before the peek, because --no-loss must leave the error in the socket.
        if (reset && waits && info->type == SOCK_SEQPACKET) {
            if (dump.options().finalState == model::FinalState::Default)
                dump.log().warn("{} loses its pending error (ECONNRESET) unless this dump ends its process", shown);
            else
                dump.log().loss(Loss::SocketState,
                                "{} loses its pending error (ECONNRESET), which criu takes with its packets", shown);
        }
        // Peeks at packets take the error. So criu doesn't peek into an empty queue.
        if (!reset || waits)
            queues_.add(file.copy.get(), info->type, info->receiveQueue, FileId{entry.id}, dump);
    }
}

// Writes a socket after its peer, because CRIU 4.2 reads the entries in one pass. If both are connected to each other,
// CRIU 4.2 accepts any order.
void UnixDump::write(FileEntry& entry, const files::OpenFd& file, files::FileDump& dump) {
    const std::uint32_t inode = entry.usk->ino;
    const std::uint32_t peer = entry.usk->peer;
    dump.addLater(entry);
    const auto seen = peers_.find(peer);
    const bool mutual = seen != peers_.end() && seen->second == inode;
    if (peer != 0 && !mutual && !written_.contains(peer)) {
        UniqueFd copy;
        if (externalSockets_.any())
            copy.reset(sys(::fcntl(file.copy.get(), F_DUPFD_CLOEXEC, 0), "copy {}", file.describe()));
        waiting_[peer].push_back({&entry, file.describe(), std::move(copy)});
        return;
    }
    dump.add(entry);
    release(inode, dump);
}

void UnixDump::release(std::uint32_t inode, files::FileDump& dump) {
    std::vector<std::uint32_t> written{inode};
    while (!written.empty()) {
        const std::uint32_t next = written.back();
        written.pop_back();
        written_.insert(next);
        const auto waiting = waiting_.extract(next);
        if (waiting.empty())
            continue;
        for (const Waiting& socket : waiting.mapped()) {
            dump.add(*socket.entry);
            written.push_back(socket.entry->usk->ino);
        }
    }
}

void UnixDump::checkOutside(const Waiting& socket, const UnixSocketInfo* peer, files::FileDump& dump) const {
    const model::Options& options = dump.options();
    UnixSkEntry& entry = *socket.entry->usk;
    if (socket.copy && externalSockets_.save(socket.copy.get(), entry.ino)) {
        entry.uflags |= static_cast<std::uint32_t>(UnixFlag::Callback);
        return;
    }
    if (isListed(options, entry.ino))
        return;
    const bool canConnect = peer != nullptr && peer->type == SOCK_DGRAM && !peer->name.empty();
    // A relative name means a file in the directory in which the outside program called bind(2). criu doesn't know it.
    const bool isRelative = canConnect && peer->name.front() != '/' && peer->name.front() != '\0';
    if (canConnect && options.extUnixSockets && !isRelative)
        return;
    const std::string name = fmt::format("socket:[{}]", entry.peer);
    const std::string holder = kernel::describeHolder(name);
    Error error(0, fmt::format("{} is connected to {}{}{}, outside of the tree", socket.shown, name,
                               peer == nullptr || peer->name.empty() ? "" : fmt::format(" ({})", shownName(*peer)),
                               holder.empty() ? "" : " of " + holder));
    const std::string given = fmt::format(
        "dump with --external unix[{}] and restore with --inherit-fd fd[N]:socket:[{}], "
        "N being a descriptor of criu restore",
        entry.ino, entry.ino);
    if (isRelative)
        error.addHint(
            fmt::format("its name {} is relative, so --ext-unix-sk can't find it again: let the program bind an "
                        "absolute path, or {}",
                        shownName(*peer), given));
    else
        error.addHint(fmt::format(
            "{}, or {}", canConnect ? "dump and restore with --ext-unix-sk" : "end the connection before", given));
    throw error;
}

void UnixDump::addOutside(std::uint32_t peer, const UnixSocketInfo* info, files::FileDump& dump) const {
    Arena& arena = dump.arena();
    auto& entry = *arena.make<FileEntry>();
    auto& out = *arena.make<UnixSkEntry>();
    entry.type = FD_TYPES__UNIXSK;
    entry.id = out.id = dump.nextId().value;
    entry.usk = &out;
    out.ino = peer;
    // The type is arbitrary, like the other values: a restore reads only the name of this entry.
    out.type = SOCK_DGRAM;
    out.state = static_cast<std::uint32_t>(UnixState::Listen);
    out.uflags = static_cast<std::uint32_t>(UnixFlag::Outside);
    out.fown = arena.make<FownEntry>();
    out.opts = arena.make<SkOptsEntry>();
    if (info != nullptr)
        out.name = arena.bytes(std::as_bytes(std::span(info->name)));
    dump.add(entry);
}

void UnixDump::finish(files::FileDump& dump) {
    while (!waiting_.empty()) {
        // Finds sockets whose peer isn't in `peers_`, because such a peer is outside of the tree. All other sockets in
        // `waiting_` wait for a peer that is in `waiting_`, too.
        const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                        [this](const auto& item) { return !peers_.contains(item.first); });
        if (found == waiting_.end())
            fail("the kernel says that unix sockets are connected in a circle: {}", waiting_.begin()->second[0].shown);
        const std::uint32_t outside = found->first;
        const UnixSocketInfo* const info = find(dump.networkNumber(), outside);
        for (const Waiting& socket : found->second)
            dump.refusals().attempt([&] { checkOutside(socket, info, dump); });
        addOutside(outside, info, dump);
        release(outside, dump);
    }
    queues_.finish();
}

}  // namespace criu::sockets
