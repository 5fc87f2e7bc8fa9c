// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: restore-options --root /
#include <fcntl.h>

#include "mounts.hpp"
#include "proc_files.hpp"

ZDTM(
    "open in the proc mount of the parent pid namespace: files of no process, and a directory of an ended process; "
    "open in the tree's proc mount: a process' file") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/proc", "proc");
    const int common = SYS(open("/proc/sys/kernel/ostype", O_RDONLY | O_CLOEXEC));
    const int own = SYS(open("/mnt/proc/1/comm", O_RDONLY | O_CLOEXEC));
    const std::string name = zdtm::content_of(own);
    zdtm::enter_ended_process();

    me.wait_for_check();
    CHECK(zdtm::content_of(common) == "Linux\n", "%s", zdtm::content_of(common).c_str());
    CHECK(zdtm::content_of(own) == name, "it is that of %s instead of %s", zdtm::content_of(own).c_str(), name.c_str());
    CHECK(access("status", F_OK) == -1, "there is a process");
}
