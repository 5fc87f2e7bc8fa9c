// SPDX-License-Identifier: GPL-2.0-only
// A user without privileges.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "zdtm.hpp"

namespace zdtm {

inline constexpr uid_t kOtherUser = 1000;

// Makes a directory that belongs to the user.
inline void make_users_directory(const std::string& path) {
    SYS(mkdir(path.c_str(), 0755));
    SYS(chown(path.c_str(), kOtherUser, kOtherUser));
}

// Makes a file that belongs to the user, and that only the user may read.
inline void make_users_file(const std::string& path, const std::string& content) {
    write_file(path, content);
    SYS(chown(path.c_str(), kOtherUser, kOtherUser));
    SYS(chmod(path.c_str(), 0600));
}

// Opens a device node of the user that is a copy of /dev/zero, and deletes the node.
inline int open_deleted_device() {
    make_users_directory("mine");
    SYS(mknod("mine/zero", S_IFCHR | 0600, makedev(1, 5)));
    SYS(chmod("mine/zero", 0666));
    SYS(chown("mine/zero", kOtherUser, kOtherUser));
    const int zero = SYS(open("mine/zero", O_RDWR));
    SYS(unlink("mine/zero"));
    return zero;
}

inline void check_deleted_device(int zero) {
    struct stat info {};
    SYS(fstat(zero, &info));
    CHECK(S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 5) && info.st_nlink == 0, "mode %o", info.st_mode);
    CHECK((info.st_mode & 07777) == 0666 && info.st_uid == kOtherUser, "mode %o of %u", info.st_mode, info.st_uid);
    char text[4] = {1, 1, 1, 1};
    CHECK(read(zero, text, 4) == 4 && text[0] == 0, "%s", strerror(errno));
}

inline void become_user() {
    SYS(setgroups(0, nullptr));
    SYS(setresgid(kOtherUser, kOtherUser, kOtherUser));
    SYS(setresuid(kOtherUser, kOtherUser, kOtherUser));
}

}  // namespace zdtm
