// SPDX-License-Identifier: GPL-2.0-only
// Trees with nested user namespaces.
#pragma once

#include <grp.h>
#include <sys/syscall.h>

#include "user_spaces.hpp"

namespace zdtm {

// User namespace links of each process before and after the restore. Inode numbers change, so only equality counts.
struct UserLinks {
    enum Who { kUser, kBelow, kNobody, kGuest, kAll };
    char before[kAll][64];
    char after[kAll][64];

    static void note(char (&link)[64]) { SYS(readlink("/proc/self/ns/user", link, sizeof(link) - 1)); }
    static void check(const char (&links)[kAll][64]) {
        CHECK(strcmp(links[kUser], links[kBelow]) == 0 && strcmp(links[kUser], links[kGuest]) == 0 &&
                  strcmp(links[kUser], links[kNobody]) != 0 && links[kUser][0] != '\0' && links[kNobody][0] != '\0',
              "%s, %s, %s, %s", links[kUser], links[kBelow], links[kGuest], links[kNobody]);
    }
};
inline UserLinks* user_links = nullptr;

// Makes a namespace as an unprivileged user does: its owner isn't root outside and has groups without a map entry.
inline void live_as_user(Task& task) {
    constexpr uid_t user = 1000;
    const gid_t groups[] = {user, 27};
    SYS(setgroups(2, groups));
    SYS(setresgid(user, user, user));
    SYS(setresuid(user, user, user));
    become_root_inside();
    const pid_t below = task.start_child([](Task& child) {
        const std::string before = user_space_lines();
        UserLinks::note(user_links->before[UserLinks::kBelow]);
        child.wait_for_check();
        check_user_space(before);
        UserLinks::note(user_links->after[UserLinks::kBelow]);
    });
    const std::string before = user_space_lines();
    UserLinks::note(user_links->before[UserLinks::kUser]);
    task.wait_for_check();
    check_user_space(before);
    UserLinks::note(user_links->after[UserLinks::kUser]);
    check_rights_inside();
    task.finish(below);
}

// Makes a namespace without maps, in which all ids are the overflow ids.
inline void live_as_nobody(Task& task) {
    SYS(unshare(CLONE_NEWUSER));
    const std::string before = user_space_lines();
    UserLinks::note(user_links->before[UserLinks::kNobody]);
    task.wait_for_check();
    check_user_space(before);
    UserLinks::note(user_links->after[UserLinks::kNobody]);
    // The owner of the namespace can still write the maps.
    SYS(prctl(PR_SET_DUMPABLE, 1));
    write_text("/proc/self/uid_map", "0 0 1");
    CHECK(geteuid() == 0, "user %d", static_cast<int>(geteuid()));
}

// Enters an existing namespace with fewer capabilities than possible, and with ids other than its owner's.
inline void live_as_guest(Task& task, pid_t host) {
    const int there = SYS(static_cast<int>(syscall(SYS_pidfd_open, host, 0)));
    SYS(setns(there, CLONE_NEWUSER));
    SYS(close(there));
    SYS(prctl(PR_CAPBSET_DROP, 1));
    SYS(setresuid(0, 0, 0));
    SYS(prctl(PR_SET_SECUREBITS, 0x3));  // SECBIT_NOROOT and its lock
    const std::string before = user_space_lines();
    UserLinks::note(user_links->before[UserLinks::kGuest]);
    task.wait_for_check();
    check_user_space(before);
    UserLinks::note(user_links->after[UserLinks::kGuest]);
}

inline void live_with_user_spaces(Task& me) {
    user_links = static_cast<UserLinks*>(
        SYS(mmap(nullptr, sizeof(UserLinks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)));
    const pid_t user = me.start_child(live_as_user);
    const pid_t nobody = me.start_child(live_as_nobody);
    const pid_t guest = me.start_child([user](Task& task) { live_as_guest(task, user); });
    UserLinks::check(user_links->before);
    const std::string before = user_space_lines();
    me.wait_for_check();
    check_user_space(before);
    me.finish(guest);
    me.finish(nobody);
    me.finish(user);
    UserLinks::check(user_links->after);
    char own[64] = {};
    UserLinks::note(own);
    CHECK(strcmp(own, user_links->after[UserLinks::kUser]) != 0, "%s", own);
}

}  // namespace zdtm
