// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 peers of restored connections are root
#include <grp.h>
#include <sys/stat.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

namespace {
// Credentials that the kernel has stored for a socket's peer.
struct Peer {
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;
};

Peer peer_of(int fd) {
    ucred made{};
    socklen_t length = sizeof made;
    SYS(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &made, &length));
    Peer peer{made.uid, made.gid, std::vector<gid_t>(100)};
    length = static_cast<socklen_t>(peer.groups.size() * sizeof(gid_t));
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &length) < 0) {
        CHECK(errno == ENODATA, "SO_PEERGROUPS: %m");
        length = 0;
    }
    peer.groups.resize(length / sizeof(gid_t));
    return peer;
}

// Runs `work` with another effective uid and gid and one further group.
template <typename Work>
auto as(uid_t id, Work&& work) {
    const gid_t groups[] = {id, id + 1};
    SYS(setgroups(2, groups));
    SYS(setresgid(-1U, id, -1U));
    SYS(setresuid(-1U, id, -1U));
    auto result = work();
    SYS(setresuid(-1U, 0, -1U));
    SYS(setresgid(-1U, 0, -1U));
    SYS(setgroups(0, nullptr));
    return result;
}

void require(int fd, uid_t id, const char* what) {
    const Peer peer = peer_of(fd);
    CHECK(peer.uid == id && peer.gid == id, "%s: made by %u:%u instead of %u", what, peer.uid, peer.gid, id);
    const std::vector<gid_t> groups{id, id + 1};
    CHECK(peer.groups == groups, "%s: %zu groups", what, peer.groups.size());
}

int accept_from(int listener) {
    return SYS(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
}
}  // namespace

ZDTM("peer credentials (SO_PEERCRED, SO_PEERGROUPS) of all kinds of Unix sockets") {
    const zdtm::Name names[] = {zdtm::Name::abstract("peer-credentials"), zdtm::Name::path("peer")};
    struct Served {
        int listener, accepted, client, waiting;
    };
    std::vector<Served> served;
    for (const zdtm::Name& name : names) {
        Served made{};
        made.listener = zdtm::bound_socket(SOCK_STREAM, name);
        as(1000, [&] { return SYS(listen(made.listener, 5)); });
        if (name.address.sun_path[0] != '\0') {
            SYS(chmod(name.address.sun_path, 0777));
        }
        made.client = as(2000, [&] { return zdtm::connected_socket(SOCK_STREAM, name); });
        made.accepted = accept_from(made.listener);
        made.waiting = as(3000, [&] { return zdtm::connected_socket(SOCK_STREAM, name); });
        served.push_back(made);
    }
    // Another user calls listen(2) again, so later clients see that user.
    const zdtm::Name given = zdtm::Name::abstract("given");
    const int handed = as(4000, [&] { return zdtm::listening_socket(SOCK_SEQPACKET, given); });
    const int early = as(5000, [&] { return zdtm::connected_socket(SOCK_SEQPACKET, given); });
    const int early_accepted = accept_from(handed);
    as(6000, [&] { return SYS(listen(handed, 5)); });
    const int late = as(7000, [&] { return zdtm::connected_socket(SOCK_SEQPACKET, given); });
    const int late_accepted = accept_from(handed);
    // The listener is closed.
    const zdtm::Name short_lived = zdtm::Name::abstract("short-lived");
    const int listener = as(8000, [&] { return zdtm::listening_socket(SOCK_STREAM, short_lived); });
    const int orphan = as(9000, [&] { return zdtm::connected_socket(SOCK_STREAM, short_lived); });
    const int orphan_accepted = accept_from(listener);
    SYS(close(listener));

    const zdtm::Pair stream = as(1100, [] { return zdtm::make_pair_of(SOCK_STREAM); });
    const zdtm::Pair datagram = as(1200, [] { return zdtm::make_pair_of(SOCK_DGRAM); });
    const zdtm::Name named = zdtm::Name::abstract("datagrams");
    const int target = zdtm::bound_socket(SOCK_DGRAM, named);
    const int sender = zdtm::connected_socket(SOCK_DGRAM, named);

    me.wait_for_check();

    for (const Served& each : served) {
        require(each.client, 1000, "client");
        require(each.waiting, 1000, "waiting client");
        require(each.accepted, 2000, "accepted socket");
        require(each.listener, 1000, "listener");
        const int accepted = accept_from(each.listener);
        CHECK(peer_of(accepted).uid == 3000 && peer_of(accepted).gid == 3000, "accepted now: made by %u",
              peer_of(accepted).uid);
    }
    require(early, 4000, "early client");
    require(early_accepted, 5000, "accepted early");
    require(handed, 6000, "listener of others");
    require(late, 6000, "late client");
    require(late_accepted, 7000, "accepted late");
    require(orphan, 8000, "client of a listener that is gone");
    require(orphan_accepted, 9000, "accepted by one that is gone");
    require(stream.one, 1100, "one of a pair");
    require(stream.other, 1100, "the other of a pair");
    require(datagram.one, 1200, "one of a pair for datagrams");
    require(datagram.other, 1200, "the other of a pair for datagrams");
    struct stat owned {};
    SYS(fstat(stream.one, &owned));
    CHECK(owned.st_uid == 1100 && owned.st_gid == 1100, "a pair is %u:%u's", owned.st_uid, owned.st_gid);
    for (const int fd : {target, sender}) {
        CHECK(peer_of(fd).uid == -1U && peer_of(fd).groups.empty(), "datagrams: made by %u", peer_of(fd).uid);
    }
}
