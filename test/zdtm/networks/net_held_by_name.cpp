// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once
// zdtm: fails-with-4.2 it knows no such files
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "network.hpp"
#include "zdtm.hpp"

namespace {

ino_t inode_of(int fd) {
    struct stat about {};
    SYS(fstat(fd, &about));
    return about.st_ino;
}

}  // namespace

ZDTM("a descriptor of a named network namespace, as of ip-netns(8), refers to the one of this name") {
    zdtm::enter_new_network();
    const int home = SYS(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    zdtm::enter_new_network();
    zdtm::write_file("name", "");
    SYS(mount("/proc/self/ns/net", "name", nullptr, MS_BIND, nullptr));
    SYS(setns(home, CLONE_NEWNET));
    const int held = SYS(open("name", O_RDONLY));
    const ino_t before = inode_of(held);
    me.wait_for_check();
    CHECK(inode_of(held) == before, "it is another one");
    SYS(close(held));
    SYS(umount2("name", MNT_DETACH));
}
