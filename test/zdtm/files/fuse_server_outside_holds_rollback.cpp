// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes rolled-back
// zdtm: dump-options --link-remap
// zdtm: strangers yes
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <atomic>

#include "fuse.hpp"
#include "zdtm.hpp"

ZDTM("a dump that is blocked by a FUSE server and ends removes its temporary links") {
    auto& ending = *reinterpret_cast<std::atomic<bool>*>(
        zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
    const int server = zdtm::mount_fuse("/mnt");
    // This process is a sibling of the tree: a child of the root's parent.
    if (SYS(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) == 0) {
        zdtm::serve_as_told(server, ending);
        _exit(0);
    }
    SYS(close(server));
    zdtm::write_file("name", "content");
    const int linked = SYS(open("name", O_RDWR));
    SYS(link("name", "other"));
    SYS(unlink("name"));
    // The dump reaches this file after the others.
    const int file = SYS(open("/mnt/file", O_RDONLY));
    const int deleted = SYS(open("/mnt/other", O_RDONLY));
    SYS(unlink("/mnt/other"));
    me.wait_for_check();

    CHECK(pwrite(linked, "C", 1, 0) == 1 && zdtm::read_file("other") == "Content", "%s",
          zdtm::read_file("other").c_str());
    for (const int fd : {file, deleted}) {
        char text[16] = {};
        CHECK(SYS(pread(fd, text, sizeof(text), 0)) == 6 && strcmp(text, zdtm::kFuseContent) == 0, "got %s", text);
        SYS(close(fd));
    }
    SYS(umount2("/mnt", MNT_DETACH));
    ending = true;
}
