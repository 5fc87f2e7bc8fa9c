// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the first process is in the mount namespace of criu, and others aren't
#include <sys/stat.h>

#include <string>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a child has bound a directory that is covered by another mount in its parent's namespace") {
    SYS(mkdir("place", 0700));
    zdtm::write_file("place/file", "below");
    zdtm::mount_on("place", "tmpfs");
    zdtm::write_file("place/file", "above");
    const pid_t child = me.start_child([](zdtm::Task& task) {
        zdtm::enter_small_root();
        zdtm::bind_on("place", "seen");
        CHECK(zdtm::read_file("seen/file") == "below", "%s", zdtm::read_file("seen/file").c_str());
        const auto before = zdtm::mount_lines();
        task.wait_for_check();
        zdtm::check_mounts(before);
        CHECK(zdtm::read_file("seen/file") == "below", "%s", zdtm::read_file("seen/file").c_str());
    });
    me.wait_for_check();
    CHECK(zdtm::read_file("place/file") == "above", "%s", zdtm::read_file("place/file").c_str());
    me.finish(child);
}
