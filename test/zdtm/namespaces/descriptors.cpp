// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <string>

#include "clocks.hpp"
#include "zdtm.hpp"

ZDTM("descriptors of the private namespaces that a process is in") {
    constexpr const char* kinds[] = {"uts", "ipc", "time", "net", "user"};
    SYS(unshare(CLONE_NEWUTS | CLONE_NEWIPC));
    zdtm::enter_new_time(1000, 1000);
    int fds[std::size(kinds)];
    for (std::size_t i = 0; i < std::size(kinds); ++i)
        fds[i] = SYS(open((std::string("/proc/self/ns/") + kinds[i]).c_str(), O_RDONLY));
    me.wait_for_check();
    for (std::size_t i = 0; i < std::size(kinds); ++i) {
        struct stat opened {};
        struct stat present {};
        SYS(fstat(fds[i], &opened));
        SYS(stat((std::string("/proc/self/ns/") + kinds[i]).c_str(), &present));
        CHECK(opened.st_ino == present.st_ino, "%s: %lu, not %lu", kinds[i], opened.st_ino, present.st_ino);
    }
}
