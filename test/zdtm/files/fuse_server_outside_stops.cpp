// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes server-stops
// zdtm: strangers yes
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>

#include "fuse.hpp"
#include "zdtm.hpp"

namespace {

/// Serves requests. Files in the working directory say when it stops answering.
void serve(int server, const std::atomic<bool>& ending) {
    int asked = 0;
    bool there = true;
    while (!ending && there) {
        const bool deaf_later = access("deaf-later", F_OK) == 0;
        if (!deaf_later) {
            asked = 0;
        }
        if (asked >= 3) {  // the server answers the first requests, so criu has some of the files open
            usleep(1000);
            continue;
        }
        there = zdtm::serve_fuse(server, 20, [&](unsigned request) {
            asked += request == FUSE_GETATTR ? 1 : 0;
            return request != FUSE_FLUSH || access("deaf-to-flush", F_OK) != 0;
        });
    }
}

}  // namespace

ZDTM("a FUSE server outside of the tree that stops answering during a dump doesn't block the tree") {
    auto& ending = *reinterpret_cast<std::atomic<bool>*>(
        zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
    const int server = zdtm::mount_fuse("/mnt");
    // This process is a sibling of the tree: a child of the root's parent.
    if (SYS(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) == 0) {
        serve(server, ending);
        _exit(0);
    }
    SYS(close(server));
    int files[5];
    for (int& file : files) {
        file = SYS(open("/mnt/file", O_RDONLY));
    }
    me.wait_for_check();

    for (const int file : files) {
        struct stat status {};
        SYS(fstat(file, &status));
        CHECK(status.st_size == 6, "size %ld", static_cast<long>(status.st_size));
        SYS(close(file));
    }
    SYS(umount2("/mnt", MNT_DETACH));
    ending = true;
}
