// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: plant mkdir outside; cp -a mine/sub/name outside/name; chown 0:0 outside/name; mv mine/sub mine/away; ln -s "$PWD/outside" mine/sub
// zdtm: unplant rm mine/sub; mv mine/away mine/sub; rm -r outside
// zdtm: refused-with sub is a symbolic link that others may have put there
#include "other_user.hpp"
#include "unix_sockets.hpp"

ZDTM("a restore doesn't remove another user's socket that a user's link leads to") {
    zdtm::make_users_directory("mine");
    zdtm::make_users_directory("mine/sub");
    zdtm::become_user();
    const int fd = zdtm::listening_socket(SOCK_STREAM, zdtm::Name::path("mine/sub/name"));
    me.wait_for_check();

    struct stat info {};
    SYS(lstat("mine/sub/name", &info));
    CHECK(S_ISSOCK(info.st_mode) && info.st_uid == zdtm::kOtherUser, "mode %o of %u", info.st_mode, info.st_uid);
    (void)fd;
}
