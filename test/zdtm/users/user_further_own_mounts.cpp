// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores a user namespace together with a pid namespace only
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/utsname.h>

#include "mounts.hpp"
#include "user_spaces.hpp"

ZDTM("a tree in a user namespace and in namespaces that it owns, but in criu's pid namespace") {
    SYS(setresgid(1000, 1000, 1000));
    SYS(setresuid(1000, 1000, 1000));
    zdtm::become_root_inside();
    SYS(unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS));
    SYS(sethostname("inside", 6));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, "size=1m"));
    zdtm::write_file("/mnt/file", "content");
    const int file = SYS(open("/mnt/file", O_RDWR));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(chdir("/mnt"));
        task.wait_for_check();
        CHECK(zdtm::read_file("file") == "content", "%s", zdtm::read_file("file").c_str());
    });
    const std::string before = zdtm::user_space_lines();
    me.wait_for_check();
    zdtm::check_user_space(before);
    utsname names{};
    SYS(uname(&names));
    CHECK(std::string(names.nodename) == "inside", "%s", names.nodename);
    SYS(sethostname("changed", 7));
    char byte = 0;
    CHECK(SYS(read(file, &byte, 1)) == 1 && byte == 'c', "read %d", byte);
    me.finish(child);
    SYS(close(file));
    SYS(umount("/mnt"));
}
