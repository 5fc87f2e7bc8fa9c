// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/unix/unix_peer.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "images/sk-unix.hpp"

namespace criu::sockets {
namespace {

constexpr int kPeerGroups = 59;  // SO_PEERGROUPS

std::vector<gid_t> readGroups(int fd) {
    std::vector<gid_t> groups(16);
    for (;;) {
        auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
        if (::getsockopt(fd, SOL_SOCKET, kPeerGroups, groups.data(), &size) == 0) {
            groups.resize(size / sizeof(gid_t));
            return groups;
        }
        if (errno != ERANGE)
            failErrno("read the groups of who made the other end of a socket");
        groups.resize(size / sizeof(gid_t));
    }
}

}  // namespace

void readPeer(int fd, UnixSkEntry& entry, Arena& arena) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    sys(::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), "read who made the other end of a socket");
    entry.has_peer_uid = entry.has_peer_gid = entry.has_peer_pid = 1;
    entry.peer_uid = peer.uid;
    entry.peer_gid = peer.gid;
    entry.peer_pid = static_cast<std::uint32_t>(peer.pid);
    if (peer.uid == model::IdMap::kNone)
        return;
    const std::vector<gid_t> groups = readGroups(fd);
    entry.n_peer_groups = groups.size();
    entry.peer_groups = arena.copy(std::span<const std::uint32_t>(groups));
}

void translatePeer(UnixSkEntry& entry, const model::IdMap& ids, const model::TreePids& pids) {
    entry.peer_pid = static_cast<std::uint32_t>(pids.inside(HostPid(static_cast<pid_t>(entry.peer_pid))).value);
    if (entry.has_peer_uid == 0 || entry.peer_uid == model::IdMap::kNone)
        return;
    entry.peer_uid = ids.seenUid(entry.peer_uid);
    entry.peer_gid = ids.seenGid(entry.peer_gid);
    for (std::uint32_t& group : list(entry.peer_groups, entry.n_peer_groups))
        group = ids.seenGid(group);
}

std::optional<kernel::Identity> peerOf(const UnixSkEntry& entry) {
    if (entry.has_peer_uid == 0)
        return std::nullopt;
    if (entry.peer_uid == model::IdMap::kNone)
        return kernel::Identity{model::IdMap::kOverflow, model::IdMap::kOverflow, {}};
    const auto groups = list(entry.peer_groups, entry.n_peer_groups);
    return kernel::Identity{entry.peer_uid, entry.peer_gid, {groups.begin(), groups.end()}};
}

void restoreOwner(int fd, const UnixSkEntry& entry) {
    if (entry.has_owner_uid == 0 || entry.has_owner_gid == 0)
        return;
    struct stat now {};
    sys(::fstat(fd, &now), "look at a socket");
    if (now.st_uid != entry.owner_uid || now.st_gid != entry.owner_gid)
        sys(::fchown(fd, entry.owner_uid, entry.owner_gid), "make user {} the owner of a socket", entry.owner_uid);
}

std::optional<kernel::Identity> callerOf(const UnixSkEntry& entry) {
    if (entry.has_owner_uid == 0)
        return std::nullopt;
    return kernel::Identity{entry.owner_uid, entry.owner_gid, {}};
}

}  // namespace criu::sockets
