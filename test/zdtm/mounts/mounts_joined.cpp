// SPDX-License-Identifier: GPL-2.0-only
// zdtm: restore-options --join-ns mnt:/mnt/joined
// zdtm: modes once
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "zdtm.hpp"

namespace {

struct Pipe {
    int ends[2];
    Pipe() { SYS(pipe(ends)); }
    void put(bool value) const { SYS(write(ends[1], &value, 1)); }
    bool take() const {
        bool value = false;
        CHECK(SYS(read(ends[0], &value, 1)) == 1, "the other side has ended");
        return value;
    }
    void close() const {
        SYS(::close(ends[0]));
        SYS(::close(ends[1]));
    }
};

// Makes a mount namespace with another /media. The namespace exists as long as its mount on /mnt/joined. The kernel
// mounts a namespace only in a namespace with a lower sequence number (mnt_ns_loop()). Linux 6.18 does not give these
// numbers in order of time. So this function tries until the number is higher.
void make_namespace() {
    zdtm::write_file("/mnt/joined", "");
    const Pipe made;
    const Pipe suits;
    const pid_t maker = SYS(fork());
    if (maker == 0) {
        do {
            SYS(unshare(CLONE_NEWNS));
            made.put(true);
        } while (!suits.take());
        SYS(mount("none", "/media", "tmpfs", 0, nullptr));
        zdtm::write_file("/media/file", "joined\n");
        SYS(mkdir("/media/directory", 0700));
        _exit(0);
    }
    const std::string space = "/proc/" + std::to_string(maker) + "/ns/mnt";
    for (bool mounted = false; !mounted;) {
        made.take();
        mounted = mount(space.c_str(), "/mnt/joined", nullptr, MS_BIND, nullptr) == 0;
        CHECK(mounted || errno == EINVAL, "the namespace can't be mounted: %s", strerror(errno));
        suits.put(mounted);
    }
    CHECK(zdtm::wait_status(maker) == 0, "the namespace couldn't be made");
    made.close();
    suits.close();
}

}  // namespace

ZDTM("a restore with --join-ns opens files by their paths in the joined mount namespace; deleted files are kept") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, nullptr));
    make_namespace();
    SYS(mount("none", "/media", "tmpfs", 0, nullptr));
    zdtm::write_file("/media/file", "before\n");
    const int file = SYS(open("/media/file", O_RDONLY));
    const int deleted = SYS(open("deleted", O_RDWR | O_CREAT | O_EXCL, 0600));
    CHECK(SYS(write(deleted, "content", 7)) == 7, "not all was written");
    SYS(unlink("deleted"));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(access("/media/directory", F_OK) == 0, "the child isn't in the joined namespace");
    });
    me.wait_for_check();
    char text[8] = {};
    SYS(pread(file, text, 7, 0));
    CHECK(std::string(text) == "joined\n", "the file says %s", text);
    CHECK(access("/media/directory", F_OK) == 0, "not in the joined namespace");
    char kept[8] = {};
    SYS(pread(deleted, kept, 7, 0));
    CHECK(std::string(kept) == "content", "the deleted file has %s", kept);
    struct stat status {};
    SYS(fstat(deleted, &status));
    CHECK(status.st_nlink == 0, "the deleted file has a name");
    me.finish(child);
}
