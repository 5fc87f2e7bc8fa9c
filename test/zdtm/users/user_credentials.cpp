// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also user-given, user-given-more
// zdtm: own-users yes
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <thread>
#include <vector>

#include "zdtm.hpp"

namespace {

struct Ids {
    uid_t user[3];
    gid_t group[3];
};

Ids own_ids() {
    Ids ids{};
    SYS(getresuid(&ids.user[0], &ids.user[1], &ids.user[2]));
    SYS(getresgid(&ids.group[0], &ids.group[1], &ids.group[2]));
    return ids;
}

std::vector<gid_t> own_groups() {
    std::vector<gid_t> groups(100);
    groups.resize(static_cast<std::size_t>(SYS(getgroups(static_cast<int>(groups.size()), groups.data()))));
    return groups;
}

// Changes the ids of the calling thread only: the kernel's call does no more.
void become(uid_t real, uid_t effective, uid_t saved) {
    SYS(syscall(SYS_setresuid, real, effective, saved));
}

void require_ids(uid_t real, uid_t effective, uid_t saved) {
    const Ids ids = own_ids();
    CHECK(ids.user[0] == real && ids.user[1] == effective && ids.user[2] == saved, "uids %u %u %u", ids.user[0],
          ids.user[1], ids.user[2]);
}

}  // namespace

ZDTM("a user namespace: uids, gids, capabilities and secure bits of processes and threads") {
    CHECK(getuid() == 0 && getgid() == 0, "uid %u, gid %u", getuid(), getgid());
    const pid_t user = me.start_child([](zdtm::Task& task) {
        const gid_t groups[] = {30, 65534, 1234};
        SYS(setgroups(3, groups));
        SYS(setresgid(2000, 2001, 2002));
        SYS(setresuid(1000, 1000, 1000));
        task.wait_for_check();
        require_ids(1000, 1000, 1000);
        const Ids ids = own_ids();
        CHECK(ids.group[0] == 2000 && ids.group[1] == 2001 && ids.group[2] == 2002, "gids %u %u %u", ids.group[0],
              ids.group[1], ids.group[2]);
        const std::vector<gid_t> now = own_groups();
        CHECK(now == std::vector<gid_t>({30, 1234, 65534}), "%zu groups", now.size());
        CHECK(setresuid(0, 0, 0) == -1 && errno == EPERM, "it could become root");
    });
    const pid_t returning = me.start_child([](zdtm::Task& task) {
        SYS(setresuid(11, 12, 0));
        task.wait_for_check();
        require_ids(11, 12, 0);
        SYS(setresuid(-1, 0, -1));
        // Root of the namespace may set any ids.
        SYS(setresuid(77, 78, 79));
        require_ids(77, 78, 79);
    });
    const pid_t bound = me.start_child([](zdtm::Task& task) {
        SYS(prctl(PR_CAPBSET_DROP, CAP_SYS_CHROOT));
        SYS(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_KEEP_CAPS));
        SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
        SYS(setresuid(5, 5, 5));
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct sets[2] = {};
        sets[0].permitted = sets[0].inheritable = 1U << CAP_SETUID | 1U << CAP_KILL;
        sets[0].effective = 1U << CAP_KILL;
        SYS(static_cast<int>(syscall(SYS_capset, &header, sets)));
        SYS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETUID, 0, 0));
        task.wait_for_check();
        __user_cap_data_struct now[2] = {};
        SYS(static_cast<int>(syscall(SYS_capget, &header, now)));
        CHECK(now[0].permitted == sets[0].permitted && now[0].effective == sets[0].effective &&
                  now[0].inheritable == sets[0].inheritable,
              "%x %x %x", now[0].permitted, now[0].effective, now[0].inheritable);
        CHECK(prctl(PR_CAPBSET_READ, CAP_SYS_CHROOT) == 0, "the bounding set is whole again");
        CHECK(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_SETUID, 0, 0) == 1, "no ambient capability");
        CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "new privileges are possible");
        const int bits = SYS(prctl(PR_GET_SECUREBITS));
        CHECK(bits == (SECBIT_NOROOT | SECBIT_KEEP_CAPS), "secure bits %x", static_cast<unsigned>(bits));
        const Ids before = own_ids();
        CHECK(before.user[0] == 5, "uid %u", before.user[0]);
    });

    volatile bool ready = false;
    volatile bool stop = false;
    std::thread other([&] {
        become(40, 41, 42);
        ready = true;
        while (!stop)
            usleep(1000);
        require_ids(40, 41, 42);
    });
    while (!ready)
        usleep(1000);

    me.wait_for_check();
    require_ids(0, 0, 0);
    stop = true;
    other.join();
    me.finish(user);
    me.finish(returning);
    me.finish(bound);
    const std::string map = zdtm::read_file("/proc/self/uid_map");
    unsigned inner = 1;
    unsigned outer = 0;
    unsigned count = 0;
    CHECK(std::sscanf(map.c_str(), "%u %u %u", &inner, &outer, &count) == 3 && inner == 0 && count == 65536,
          "the map is %s", map.c_str());
    const std::string groups = zdtm::read_file("/proc/self/setgroups");
    CHECK(groups == "allow\n", "setgroups: %s", groups.c_str());
    SYS(setuid(65535));
}
