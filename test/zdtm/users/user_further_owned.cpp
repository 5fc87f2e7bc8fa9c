// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one user namespace only
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "mounts.hpp"
#include "user_spaces.hpp"

namespace {

// Requires a namespace of the calling process to belong to the process' user namespace.
void check_owner(const char* name) {
    const int space = SYS(open((std::string("/proc/self/ns/") + name).c_str(), O_RDONLY | O_CLOEXEC));
    const int owner = SYS(ioctl(space, NS_GET_USERNS));
    struct stat theirs {};
    struct stat own {};
    SYS(fstat(owner, &theirs));
    SYS(stat("/proc/self/ns/user", &own));
    CHECK(theirs.st_ino == own.st_ino, "the %s namespace belongs to another user namespace", name);
    SYS(close(owner));
    SYS(close(space));
}

void live_as_user(zdtm::Task& task) {
    constexpr uid_t user = 1000;
    SYS(setresgid(user, user, user));
    SYS(setresuid(user, user, user));
    zdtm::become_root_inside();
    SYS(unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS));
    SYS(sethostname("inside", 6));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, "size=1m"));
    zdtm::write_file("/mnt/file", "content");
    SYS(chdir("/mnt"));
    const int file = SYS(open("file", O_RDWR));
    const std::string before = zdtm::user_space_lines();

    task.wait_for_check();

    zdtm::check_user_space(before);
    for (const char* const name : {"uts", "ipc", "mnt"})
        check_owner(name);
    utsname names{};
    SYS(uname(&names));
    CHECK(std::string(names.nodename) == "inside", "%s", names.nodename);
    SYS(sethostname("changed", 7));
    CHECK(zdtm::read_file("file") == "content", "%s", zdtm::read_file("file").c_str());
    char byte = 0;
    CHECK(SYS(read(file, &byte, 1)) == 1 && byte == 'c', "read %d", byte);
    // Root of the user namespace may mount and unmount. It can't unmount mounts that came from outside, nor see below
    // them.
    SYS(mkdir("below", 0700));
    SYS(mount("none", "/mnt/below", "tmpfs", 0, nullptr));
    SYS(umount("/mnt/below"));
    CHECK(umount("/proc") < 0 && errno == EINVAL, "/proc could be taken off: %s", strerror(errno));
    CHECK(mount(nullptr, "/srv", nullptr, MS_REMOUNT | MS_BIND, nullptr) < 0 && errno == EPERM,
          "a mount that was read-only outside could be made writable: %s", strerror(errno));
    SYS(chdir("/"));
    SYS(close(file));
    SYS(umount("/mnt"));
}

}  // namespace

ZDTM("a user's processes in namespaces that belong to a nested user namespace") {
    zdtm::mount_on("/srv", "tmpfs", "", MS_RDONLY);
    const pid_t child = me.start_child(live_as_user);
    me.wait_for_check();
    utsname names{};
    SYS(uname(&names));
    CHECK(std::string(names.nodename) != "inside", "the child's host name is the parent's");
    CHECK(access("/mnt/file", F_OK) < 0 && errno == ENOENT, "the child's mount is here");
    me.finish(child);
}
