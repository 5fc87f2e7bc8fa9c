// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of process \d+ .* is on /mnt \(fuse\), which can't answer while the tree stands still: its server may be in the tree
#include <fcntl.h>
#include <sys/mount.h>

#include "fuse.hpp"
#include "zdtm.hpp"

ZDTM(
    "a dump refuses a tree with an open file of a FUSE file system whose server is in the tree, before it sends the "
    "server a request") {
    const int server = zdtm::mount_fuse("/mnt");
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.ready();
        while (!task.triggered()) {
            zdtm::serve_fuse(server, 20);
        }
    });
    SYS(close(server));
    const int file = SYS(open("/mnt/file", O_RDONLY));
    me.wait_for_check();

    char text[16] = {};
    CHECK(SYS(pread(file, text, sizeof(text), 0)) == 6 && strcmp(text, zdtm::kFuseContent) == 0, "got %s", text);
    SYS(close(file));
    SYS(umount2("/mnt", MNT_DETACH));
    me.finish(child);
}
