// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/trusted_file.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::kernel {

void requireTrusted(int fd, std::string_view path) {
    struct stat stat {};
    sys(::fstat(fd, &stat), "stat {}", path);
    const bool ownRights = ::getauxval(AT_SECURE) == 0;
    if (stat.st_uid != 0 && !(ownRights && stat.st_uid == ::geteuid()))
        failWith(EPERM, "{} belongs to user {}, who could have criu do what it may do", path, stat.st_uid);
    // Trusts criu's group if criu has no file privileges, because umask 002 is usual on systems where each user has a
    // private group.
    const bool groupTrusted = stat.st_gid == 0 || (ownRights && stat.st_gid == ::getegid());
    if ((stat.st_mode & S_IWOTH) != 0 || ((stat.st_mode & S_IWGRP) != 0 && !groupTrusted))
        failWith(EPERM, "{} may be changed by others (mode {:o})", path, stat.st_mode & 07777U);
}

}  // namespace criu::kernel
