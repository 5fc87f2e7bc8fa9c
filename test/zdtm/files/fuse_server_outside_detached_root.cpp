// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes unanswered
// zdtm: strangers yes
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>

#include "fuse.hpp"
#include "zdtm.hpp"

namespace {

enum State : int { Answering, ToBeDeaf, Deaf, Ending };

}  // namespace

ZDTM(
    "a FUSE file system that a tree of root has files of, but that isn't mounted any more, and whose server keeps "
    "requests to itself, doesn't hold the tree") {
    auto& state = *reinterpret_cast<std::atomic<int>*>(
        zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
    if (mount("fusectl", "/sys/fs/fuse/connections", "fusectl", 0, nullptr) != 0 && errno != EBUSY) {
        zdtm::skip("the list of FUSE connections can't be mounted: %s", strerror(errno));
    }
    const int server = zdtm::mount_fuse("/mnt");
    // A sibling: a child of the parent of the dumped tree's root.
    if (SYS(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) == 0) {
        while (state != Ending) {
            zdtm::serve_fuse(server, 5, [&](unsigned) { return state != Deaf; });
            int wanted = ToBeDeaf;
            state.compare_exchange_strong(wanted, Deaf);
        }
        _exit(0);
    }
    SYS(close(server));
    const int file = SYS(open("/mnt/file", O_RDONLY));
    SYS(umount2("/mnt", MNT_DETACH));
    state = ToBeDeaf;
    while (state != Deaf) {
        usleep(1000);
    }
    me.wait_for_check();

    state = Answering;
    struct stat status {};
    SYS(fstat(file, &status));
    CHECK(status.st_size == 6, "size %ld", static_cast<long>(status.st_size));
    SYS(close(file));
    state = Ending;
}
