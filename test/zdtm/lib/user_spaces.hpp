// SPDX-License-Identifier: GPL-2.0-only
// User namespaces of tests (user_namespaces(7)).
#pragma once

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include <fstream>
#include <sstream>
#include <string>

#include "zdtm.hpp"

namespace zdtm {

inline std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

inline void write_text(const char* path, const std::string& text) {
    const int file = SYS(open(path, O_WRONLY | O_CLOEXEC));
    SYS(write(file, text.data(), text.size()));
    SYS(close(file));
}

// Puts the calling process into a new user namespace, which maps its uid and gid to 0.
inline void become_root_inside() {
    const uid_t user = geteuid();
    const gid_t group = getegid();
    SYS(unshare(CLONE_NEWUSER));
    // Files in /proc of a process that isn't dumpable belong to root, so the process couldn't write its maps.
    SYS(prctl(PR_SET_DUMPABLE, 1));
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    write_text("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
}

// Makes a user namespace below the one of the calling process, in which id 0 maps to id 0. A mount of its file keeps it
// alive, in a private mount namespace.
inline void keep_user_space(const std::string& path) {
    int ready[2];
    SYS(pipe(ready));
    const pid_t member = SYS(fork());
    if (member == 0) {
        SYS(unshare(CLONE_NEWUSER));
        SYS(write(ready[1], "x", 1));
        pause();
        _exit(0);
    }
    char byte = 0;
    SYS(read(ready[0], &byte, 1));
    SYS(close(ready[0]));
    SYS(close(ready[1]));
    const std::string process = "/proc/" + std::to_string(member);
    write_text((process + "/uid_map").c_str(), "0 0 1");
    write_text((process + "/gid_map").c_str(), "0 0 1");
    SYS(close(SYS(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600))));
    SYS(mount((process + "/ns/user").c_str(), path.c_str(), nullptr, MS_BIND, nullptr));
    kill_and_reap(member);
}

// Returns what the calling process sees of its user namespace, the owner, and its credentials.
inline std::string user_space_lines() {
    const int space = SYS(open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC));
    uid_t owner = 0;
    SYS(ioctl(space, NS_GET_OWNER_UID, &owner));
    SYS(close(space));
    std::istringstream status(text_of("/proc/self/status"));
    std::string lines = "owner " + std::to_string(owner) + "\n" + text_of("/proc/self/uid_map") +
                        text_of("/proc/self/gid_map") + text_of("/proc/self/setgroups");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Uid") || line.starts_with("Gid") || line.starts_with("Groups") || line.starts_with("Cap"))
            lines += line + "\n";
    return lines + "secure bits " + std::to_string(prctl(PR_GET_SECUREBITS)) + " dumpable " +
           std::to_string(prctl(PR_GET_DUMPABLE));
}

// Requires user_space_lines() to return the same as before.
inline void check_user_space(const std::string& before) {
    const std::string after = user_space_lines();
    CHECK(before == after, "was\n%s\nis\n%s", before.c_str(), after.c_str());
}

// Returns true if two processes are in one user namespace.
inline bool share_users(pid_t one, pid_t other) {
    char first[64] = {};
    char second[64] = {};
    SYS(readlink(("/proc/" + std::to_string(one) + "/ns/user").c_str(), first, sizeof(first) - 1));
    SYS(readlink(("/proc/" + std::to_string(other) + "/ns/user").c_str(), second, sizeof(second) - 1));
    return std::string(first) == second;
}

// Requires capabilities to work in the own user namespace and those below it, and nowhere else.
inline void check_rights_inside() {
    CHECK(sethostname("x", 1) < 0 && errno == EPERM, "the host name could be changed: %s", strerror(errno));
    SYS(unshare(CLONE_NEWUTS));
    SYS(sethostname("inside", 6));
}

}  // namespace zdtm
