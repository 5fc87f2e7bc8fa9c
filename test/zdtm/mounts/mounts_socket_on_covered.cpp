// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't look below mounts
// zdtm: restore-options --root /
// zdtm: may-differ socket \./\S+: mtime:, tmpfs-dev: \./\S*: mode 04
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("sockets on covered mounts, in a directory that is covered, too") {
    using zdtm::Name;
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/own", "tmpfs");
    const Name name = Name::path("/mnt/own/socket");
    const int lower = zdtm::bound_socket(SOCK_DGRAM, name);
    SYS(mkdir("/mnt/own/place", 0700));
    const Name deep = Name::path("/mnt/own/place/socket");
    const int deepest = zdtm::bound_socket(SOCK_DGRAM, deep);
    zdtm::mount_on("/mnt/own/place", "tmpfs");
    zdtm::mount_on("/mnt/own", "tmpfs");
    const int upper = zdtm::bound_socket(SOCK_DGRAM, name);
    zdtm::mount_on("/mnt", "tmpfs");
    const auto before = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(before);
    SYS(umount2("/mnt", 0));
    const int to_upper = zdtm::connected_socket(SOCK_DGRAM, name);
    zdtm::check_connected(to_upper, upper, "the socket on the covering mount");
    SYS(umount2("/mnt/own", MNT_DETACH));
    const int to_lower = zdtm::connected_socket(SOCK_DGRAM, name);
    zdtm::check_connected(to_lower, lower, "the socket on the covered mount");
    SYS(umount2("/mnt/own/place", 0));
    const int to_deepest = zdtm::connected_socket(SOCK_DGRAM, deep);
    zdtm::check_connected(to_deepest, deepest, "the socket in a covered directory of the covered mount");
}
