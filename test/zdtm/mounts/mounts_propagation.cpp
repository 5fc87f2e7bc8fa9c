// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

bool is_mounted(const std::string& path) {
    struct stat here {};
    struct stat above {};
    SYS(stat(path.c_str(), &here));
    SYS(stat((path + "/..").c_str(), &above));
    return here.st_dev != above.st_dev;
}

}  // namespace

ZDTM("peer groups, slaves, slaves that are masters, and unbindable mounts") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/source", "tmpfs");
    zdtm::propagate("/mnt/source", MS_SHARED);
    SYS(mkdir("/mnt/source/part", 0700));
    SYS(mkdir("/mnt/source/part/place", 0700));
    zdtm::bind_on("/mnt/source", "/mnt/peer");
    zdtm::bind_on("/mnt/source/part", "/mnt/part");
    zdtm::bind_on("/mnt/source", "/mnt/slave");
    zdtm::propagate("/mnt/slave", MS_SLAVE);
    zdtm::bind_on("/mnt/slave", "/mnt/both");
    zdtm::propagate("/mnt/both", MS_SHARED);
    zdtm::bind_on("/mnt/both", "/mnt/follower");
    zdtm::propagate("/mnt/follower", MS_SLAVE);
    zdtm::bind_on("/mnt/source", "/mnt/alone");
    zdtm::propagate("/mnt/alone", MS_PRIVATE);
    zdtm::bind_on("/mnt/source", "/mnt/unbindable");
    zdtm::propagate("/mnt/unbindable", MS_UNBINDABLE);
    // Propagation copies this mount to all peers and slaves.
    zdtm::mount_on("/mnt/source/early", "tmpfs");
    SYS(close(SYS(open("/mnt/source/early/file", O_CREAT | O_WRONLY, 0600))));
    const auto before = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(before);
    SYS(access("/mnt/follower/early/file", R_OK));
    zdtm::mount_on("/mnt/source/part/place", "tmpfs");
    for (const char* const path : {"/mnt/peer/part/place", "/mnt/part/place", "/mnt/slave/part/place",
                                   "/mnt/both/part/place", "/mnt/follower/part/place"})
        CHECK(is_mounted(path), "%s", path);
    for (const char* const path : {"/mnt/alone/part/place", "/mnt/unbindable/part/place"})
        CHECK(!is_mounted(path), "%s", path);
    SYS(umount("/mnt/peer/part/place"));
    CHECK(!is_mounted("/mnt/source/part/place"), "the source doesn't hear of its peer");
    zdtm::mount_on("/mnt/both/part/place", "tmpfs");
    CHECK(is_mounted("/mnt/follower/part/place"), "the follower doesn't hear of its master");
    CHECK(!is_mounted("/mnt/source/part/place"), "the master hears of its slave");
    CHECK(mount("/mnt/unbindable", "/mnt/alone", nullptr, MS_BIND, nullptr) == -1 && errno == EINVAL, "it was bound");
}
