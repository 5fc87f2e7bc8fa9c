// SPDX-License-Identifier: GPL-2.0-only
// zdtm: between rmdir $(cat group)/inner $(cat group)
#include <fcntl.h>
#include <sys/stat.h>

#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("a process has the directory of a group open; the restore must create the group before it opens the directory") {
    const zdtm::Cgroups groups("none,name=zdtm");
    const std::string inner = groups.make("inner");
    groups.enter("inner");
    const int directory = SYS(open(inner.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int tasks = SYS(open((groups.make() + "/tasks").c_str(), O_RDONLY | O_CLOEXEC));
    me.wait_for_check();
    struct stat opened {};
    struct stat named {};
    SYS(fstat(directory, &opened));
    SYS(stat(inner.c_str(), &named));
    CHECK(opened.st_dev == named.st_dev && opened.st_ino == named.st_ino, "another directory");
    CHECK(groups.where() == groups.in_proc("inner"), "in %s", groups.where().c_str());
    SYS(close(directory));
    SYS(close(tasks));
    groups.leave({"inner"});
}
