// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't look below mounts
// zdtm: restore-options --root /
// zdtm: may-differ socket \./\S+: mtime:, tmpfs-dev: \./\S*: mode 04, usk\.deleted:
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "unix_sockets.hpp"
#include "zdtm.hpp"

namespace {

using zdtm::Name;

constexpr const char* kListener = "/mnt/place/listener";
constexpr const char* kDatagram = "/mnt/place/deep/datagram";
constexpr const char* kRelative = "./relative";

mode_t mode_of(const char* path) {
    struct stat file {};
    SYS(stat(path, &file));
    CHECK(S_ISSOCK(file.st_mode), "%s is no socket", path);
    return file.st_mode & 0777;
}

void check_reached(int receiver, const Name& name) {
    const int sender = zdtm::connected_socket(SOCK_DGRAM, name);
    zdtm::send_message(sender, "by its name");
    CHECK(zdtm::receive(receiver) == "by its name", "%s gets nothing by its name", name.shown().c_str());
    SYS(close(sender));
}

}  // namespace

ZDTM("sockets whose directories are covered by later mounts, with and without their listener") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/place", 0700));
    SYS(mkdir("/mnt/place/deep", 0750));

    const int listener = zdtm::listening_socket(SOCK_STREAM, Name::path(kListener));
    SYS(chmod(kListener, 0640));
    const int caller = zdtm::connected_socket(SOCK_STREAM, Name::path(kListener));
    const int accepted = SYS(accept(listener, nullptr, nullptr));

    const Name left = Name::path("/mnt/place/left");
    const int old = zdtm::listening_socket(SOCK_SEQPACKET, left);
    const int left_caller = zdtm::connected_socket(SOCK_SEQPACKET, left);
    const int left_accepted = SYS(accept(old, nullptr, nullptr));
    SYS(close(old));

    const int datagram = zdtm::bound_socket(SOCK_DGRAM, Name::path(kDatagram));
    SYS(chmod(kDatagram, 0604));
    const int sender = zdtm::connected_socket(SOCK_DGRAM, Name::path(kDatagram));
    SYS(chdir("/mnt/place"));
    const int relative = zdtm::bound_socket(SOCK_DGRAM, Name::path(kRelative));
    SYS(chdir("/"));

    zdtm::mount_on("/mnt/place/deep", "tmpfs", "size=64k");
    zdtm::mount_on("/mnt/place", "tmpfs", "size=64k");
    zdtm::mount_on("/mnt/place", "tmpfs", "size=64k");
    const auto before = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(before);
    zdtm::check_connected(caller, accepted, "caller and accepted socket");
    zdtm::check_connected(left_accepted, left_caller, "a connection whose listener is gone");
    CHECK(Name::of(left_accepted).shown() == left.shown(), "it is called %s", Name::of(left_accepted).shown().c_str());
    zdtm::check_connected(sender, datagram, "datagram sockets");
    for (int covering = 0; covering < 2; ++covering) {
        CHECK(access(kListener, F_OK) < 0 && access("/mnt/place/relative", F_OK) < 0,
              "a socket is on the covering mount");
        CHECK(access("/mnt/place/deep", F_OK) < 0, "a directory is on the covering mount");
        SYS(umount2("/mnt/place", 0));
    }
    CHECK(access(kDatagram, F_OK) < 0, "a socket is on the covering mount");
    SYS(umount2("/mnt/place/deep", 0));

    CHECK(mode_of(kListener) == 0640 && mode_of(kDatagram) == 0604, "modes %o, %o", mode_of(kListener),
          mode_of(kDatagram));
    const int fresh = zdtm::connected_socket(SOCK_STREAM, Name::path(kListener));
    const int fresh_accepted = SYS(accept(listener, nullptr, nullptr));
    zdtm::check_connected(fresh, fresh_accepted, "a new connection");
    check_reached(datagram, Name::path(kDatagram));
    CHECK(Name::of(relative).shown() == kRelative, "it is called %s", Name::of(relative).shown().c_str());
    check_reached(relative, Name::path("/mnt/place/relative"));
}
