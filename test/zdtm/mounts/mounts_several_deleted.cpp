// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: dump-options --link-remap
// zdtm: restore-options --root /
// zdtm: ignore fd 4
// zdtm: not-in all-killed, dump-killed
// zdtm: may-differ tmpfs-dev: \./\S*: mode 04, reg\.name:
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

/// Returns the mount point of a descriptor's mount; empty if the mount is in another namespace.
std::string mount_point_of(int fd) {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
    std::string id;
    for (std::string word; info >> word;)
        if (word == "mnt_id:")
            info >> id;
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);)
        if (line.rfind(id + " ", 0) == 0) {
            std::size_t at = 0;
            for (int field = 0; field < 4; ++field)
                at = line.find(' ', at) + 1;
            return line.substr(at, line.find(' ', at) - at);
        }
    return "";
}

/// One file, opened by a name on each of two mounts. Both names are deleted.
struct Pair {
    int first;
    int second;

    Pair(const std::string& name, bool keep_one) {
        const std::string one = "/mnt/one/" + name;
        const std::string two = "/mnt/two/" + name;
        first = SYS(open(one.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
        SYS(write(first, name.data(), name.size()));
        SYS(link(("/mnt/whole/1/" + name).c_str(), ("/mnt/whole/2/" + name).c_str()));
        if (keep_one)
            SYS(link(("/mnt/whole/1/" + name).c_str(), ("/mnt/whole/" + name).c_str()));
        second = SYS(open(two.c_str(), O_RDWR));
        SYS(unlink(one.c_str()));
        SYS(unlink(two.c_str()));
    }

    void check(const std::string& name, nlink_t names) const {
        struct stat one {};
        struct stat other {};
        SYS(fstat(first, &one));
        SYS(fstat(second, &other));
        CHECK(one.st_ino == other.st_ino && one.st_nlink == names, "%s: %lu names", name.c_str(),
              static_cast<unsigned long>(one.st_nlink));
        CHECK(mount_point_of(first) == "/mnt/one", "%s is on %s", name.c_str(), mount_point_of(first).c_str());
        CHECK(mount_point_of(second) == "/mnt/two", "%s is on %s", name.c_str(), mount_point_of(second).c_str());
        std::string text(name.size(), '\0');
        SYS(pread(second, text.data(), text.size(), 0));
        CHECK(text == name, "%s holds %s", name.c_str(), text.c_str());
    }
};

}  // namespace

ZDTM("a deleted file, opened on several mounts of its file system, in the root's and in a non-root mount namespace") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/whole", "tmpfs");
    SYS(mkdir("/mnt/whole/1", 0700));
    SYS(mkdir("/mnt/whole/2", 0700));
    zdtm::bind_on("/mnt/whole/1", "/mnt/one");
    zdtm::bind_on("/mnt/whole/2", "/mnt/two");
    const Pair gone("gone", false);
    const Pair linked("linked", true);
    // Another file has the name of fd 4, so the restore uses another name.
    SYS(close(SYS(open("/mnt/two/gone", O_CREAT | O_EXCL | O_WRONLY, 0600))));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNS));
        const Pair own("own", false);
        const Pair own_linked("own-linked", true);
        SYS(umount("/mnt/whole"));
        task.wait_for_check();
        own.check("own", 0);
        own_linked.check("own-linked", 1);
    });

    me.wait_for_check();

    gone.check("gone", 0);
    linked.check("linked", 1);
    struct stat other {};
    SYS(stat("/mnt/two/gone", &other));
    CHECK(other.st_size == 0, "the new file of that name has %ld bytes", other.st_size);
    me.finish(child);
}
