// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it gives all threads the directories of the first
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <memory>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {

std::string here() {
    char path[4096] = {};
    CHECK(getcwd(path, sizeof path) != nullptr, "%s", strerror(errno));
    return path;
}

mode_t mask() {
    const mode_t now = umask(0);
    umask(now);
    return now;
}

void make_file(const char* name, mode_t wanted) {
    SYS(close(SYS(open(name, O_CREAT | O_EXCL | O_WRONLY, 0666))));
    struct stat status {};
    SYS(stat(name, &status));
    CHECK((status.st_mode & 0777) == wanted, "%s has mode %o", name, status.st_mode & 0777);
}

// Indices of the threads.
enum : unsigned { kLikeLeader, kElsewhere, kInJail, kAlike, kInDeleted, kCount };

}  // namespace

ZDTM("threads with a private working directory, root and file mode creation mask (CLONE_FS)") {
    const std::string top = here();
    umask(022);
    SYS(mkdir("below", 0755));
    SYS(mkdir("below/deeper", 0755));
    SYS(mkdir("jail", 0755));
    SYS(mkdir("jail/inner", 0755));
    SYS(mkdir("gone", 0755));
    std::unique_ptr<zdtm::Threads> friends;
    zdtm::Threads threads(
        kCount,
        [&](unsigned index) {
            if (index != kLikeLeader)
                SYS(unshare(CLONE_FS));
            if (index == kElsewhere) {
                SYS(chdir("below"));
                umask(077);
                // Another thread shares the directories of this one.
                friends = std::make_unique<zdtm::Threads>(
                    1, [](unsigned) {},
                    [&](unsigned) {
                        CHECK(here() == top + "/below" && mask() == 077, "in %s, %o", here().c_str(), mask());
                        SYS(chdir("deeper"));
                        umask(0177);
                    });
            }
            if (index == kInJail) {
                SYS(chroot("jail"));
                SYS(chdir("/inner"));
                umask(0111);
            }
            if (index == kInDeleted) {
                SYS(chdir("gone"));
                SYS(rmdir("../gone"));
            }
        },
        [&](unsigned index) {
            char path[64];
            switch (index) {
                case kLikeLeader:
                    CHECK(here() == top && mask() == 022, "in %s, %o", here().c_str(), mask());
                    break;
                case kElsewhere:
                    make_file("secret", 0600);
                    friends->finish();
                    CHECK(here() == top + "/below/deeper" && mask() == 0177, "in %s, %o", here().c_str(), mask());
                    break;
                case kInJail:
                    CHECK(here() == "/inner" && mask() == 0111, "in %s, %o", here().c_str(), mask());
                    CHECK(access("/proc", F_OK) != 0, "the thread is out of its root");
                    break;
                case kAlike:
                    CHECK(here() == top && mask() == 022, "in %s, %o", here().c_str(), mask());
                    SYS(chdir("/"));
                    umask(0);
                    break;
                case kInDeleted:
                    CHECK(getcwd(path, sizeof(path)) == nullptr && errno == ENOENT, "in %s", path);
                    break;
            }
        });
    me.wait_for_check();
    threads.finish();
    CHECK(here() == top && mask() == 022, "in %s, %o", here().c_str(), mask());
    CHECK(access("/proc/self", F_OK) == 0, "the root changed");
}
