// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the first process is in the mount namespace of criu, and its child isn't
// zdtm: may-differ tmpfs-dev: \./\S*: mode 04
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <fstream>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

/// Returns true if the working directory is on a mount of the process' mount namespace.
bool is_on_own_mount() {
    const int here = SYS(open(".", O_PATH | O_DIRECTORY));
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(here));
    std::string id;
    for (std::string word; info >> word;)
        if (word == "mnt_id:")
            info >> id;
    SYS(close(here));
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);)
        if (line.rfind(id + " ", 0) == 0)
            return true;
    return false;
}

ino_t inode_of(const char* path) {
    struct stat status {};
    SYS(stat(path, &status));
    return status.st_ino;
}

void check_directory(const char* who) {
    struct stat status {};
    SYS(stat(".", &status));
    CHECK(status.st_nlink == 0, "%s: the directory has %lu names", who, static_cast<unsigned long>(status.st_nlink));
    CHECK(is_on_own_mount(), "%s: the directory is on a mount of another namespace", who);
}

}  // namespace

ZDTM("a deleted working directory of processes in several mount namespaces") {
    SYS(mkdir("gone", 0711));
    SYS(chdir("gone"));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        zdtm::enter_new_mounts();
        const pid_t other = task.start_child([](zdtm::Task& inner) {
            zdtm::enter_new_mounts();
            inner.wait_for_check();
            check_directory("grandchild");
        });
        task.wait_for_check();
        check_directory("child");
        CHECK(inode_of(".") == inode_of(("/proc/" + std::to_string(getppid()) + "/cwd").c_str()), "another directory");
        task.finish(other);
    });
    SYS(rmdir("../gone"));

    me.wait_for_check();

    check_directory("parent");
    me.finish(child);
}
