// SPDX-License-Identifier: GPL-2.0-only
// A user who has nothing in common with root.
#pragma once

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "zdtm.hpp"

namespace zdtm {

inline constexpr uid_t kOtherUser = 1000;

// A directory of that user.
inline void make_users_directory(const std::string& path) {
    SYS(mkdir(path.c_str(), 0755));
    SYS(chown(path.c_str(), kOtherUser, kOtherUser));
}

// A file of that user, which nobody else may read.
inline void make_users_file(const std::string& path, const std::string& content) {
    write_file(path, content);
    SYS(chown(path.c_str(), kOtherUser, kOtherUser));
    SYS(chmod(path.c_str(), 0600));
}

inline void become_user() {
    SYS(setgroups(0, nullptr));
    SYS(setresgid(kOtherUser, kOtherUser, kOtherUser));
    SYS(setresuid(kOtherUser, kOtherUser, kOtherUser));
}

}  // namespace zdtm
