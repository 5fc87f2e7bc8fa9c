// SPDX-License-Identifier: GPL-2.0-only
// zdtm: restore-options --root /
#include <fcntl.h>
#include <sys/stat.h>

#include <array>

#include "mounts.hpp"
#include "proc_files.hpp"

ZDTM(
    "files of a process in proc mounts of criu's pid namespace: opened before the tree's mount namespace existed, in "
    "criu's mount, in another mount, and in a bind mount of a part") {
    const std::string own = "/proc/" + std::to_string(getpid());
    std::array<int, 4> files{};
    files[0] = SYS(open((own + "/comm").c_str(), O_RDONLY | O_CLOEXEC));
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/proc", "proc");
    zdtm::mount_on("/mnt/part", "tmpfs");
    SYS(mkdir("/mnt/part/own", 0700));
    zdtm::bind_on("/mnt" + own, "/mnt/part/own");
    files[1] = SYS(open((own + "/comm").c_str(), O_RDONLY | O_CLOEXEC));
    files[2] = SYS(open(("/mnt" + own + "/comm").c_str(), O_RDONLY | O_CLOEXEC));
    files[3] = SYS(open("/mnt/part/own/comm", O_RDONLY | O_CLOEXEC));
    const std::string name = zdtm::content_of(files[0]);
    me.wait_for_check();
    for (const int file : files)
        CHECK(zdtm::content_of(file) == name, "it is that of %s", zdtm::content_of(file).c_str());
}
