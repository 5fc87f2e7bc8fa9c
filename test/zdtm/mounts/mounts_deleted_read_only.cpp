// SPDX-License-Identifier: GPL-2.0-only
// zdtm: may-differ tmpfs-dev: \./folder/: mode 040700
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a deleted file is also open on a read-only mount in the mount namespace of a child") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/folder", 0700));
    const int file = SYS(open("/mnt/folder/file", O_RDWR | O_CREAT | O_EXCL, 0600));
    SYS(write(file, "content", 7));
    const pid_t child = me.start_child([](zdtm::Task& born) {
        zdtm::enter_new_mounts();
        zdtm::bind_on("/mnt/folder", "/mnt/folder");
        SYS(mount(nullptr, "/mnt/folder", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr));
        const int view = SYS(open("/mnt/folder/file", O_RDONLY));
        born.wait_for_check();
        char text[8] = {};
        SYS(pread(view, text, sizeof(text) - 1, 0));
        CHECK(std::string(text) == "content", "%s", text);
        CHECK(open("/mnt/folder/new", O_WRONLY | O_CREAT, 0600) == -1 && errno == EROFS, "the mount isn't read-only");
    });
    SYS(unlink("/mnt/folder/file"));

    me.wait_for_check();

    CHECK(rmdir("/mnt/folder/file") != 0 && errno == ENOENT, "the deleted file has its name back");
    me.finish(child);
    CHECK(rmdir("/mnt/folder") == 0, "the folder of the deleted file: %s", strerror(errno));
}
