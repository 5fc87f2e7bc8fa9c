// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes request-held
// zdtm: strangers yes
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <atomic>
#include <filesystem>

#include "fuse.hpp"
#include "zdtm.hpp"

ZDTM("a FUSE server outside of the tree that takes a request of the dump and never answers doesn't block the tree") {
    auto& ending = *reinterpret_cast<std::atomic<bool>*>(
        zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
    const int server = zdtm::mount_fuse("/mnt");
    // This process is a sibling of the tree: a child of the root's parent.
    if (SYS(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) == 0) {
        zdtm::serve_as_told(server, ending, std::filesystem::current_path());
        _exit(0);
    }
    SYS(close(server));
    const int file = SYS(open("/mnt/file", O_RDONLY));
    const int deleted = SYS(open("/mnt/other", O_RDONLY));
    SYS(unlink("/mnt/other"));
    const auto mapped = zdtm::map(4096, PROT_READ, MAP_PRIVATE, file);
    me.wait_for_check();

    for (const int fd : {file, deleted}) {
        char text[16] = {};
        CHECK(SYS(pread(fd, text, sizeof(text), 0)) == 6 && strcmp(text, zdtm::kFuseContent) == 0, "got %s", text);
        SYS(close(fd));
    }
    const char* const text = reinterpret_cast<const char*>(mapped.data());
    CHECK(strcmp(text, zdtm::kFuseContent) == 0, "mapped %s", text);
    SYS(munmap(mapped.data(), mapped.size()));
    SYS(umount2("/mnt", MNT_DETACH));
    ending = true;
}
