// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes held-in-namespace
// zdtm: own-pids yes
// zdtm: outside program
// zdtm: strangers yes
#include <fcntl.h>
#include <sys/mount.h>

#include <atomic>

#include "fuse.hpp"
#include "zdtm.hpp"

ZDTM("a FUSE server that blocks a process of a failed restore in a pid namespace doesn't block criu") {
    if (getenv("ZDTM_OUTSIDE") != nullptr) {
        const std::atomic<bool> ending = false;
        const int server = zdtm::mount_fuse("/mnt");
        me.ready();
        zdtm::serve_as_told(server, ending);  // serves until the file system is unmounted
        _exit(0);
    }
    const int file = open("/mnt/file", O_RDONLY);
    if (file < 0)
        zdtm::skip("no FUSE file system could be mounted");
    me.wait_for_check();

    char text[16] = {};
    CHECK(SYS(pread(file, text, sizeof(text), 0)) == 6 && strcmp(text, zdtm::kFuseContent) == 0, "got %s", text);
    SYS(close(file));
    SYS(umount2("/mnt", MNT_DETACH));
}
