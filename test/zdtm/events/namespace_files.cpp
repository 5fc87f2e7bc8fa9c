// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "zdtm.hpp"

ZDTM("open files in /proc/PID/ns") {
    constexpr const char* kinds[] = {"net", "pid", "mnt", "uts", "ipc", "user", "cgroup"};
    int files[7];
    for (int i = 0; i < 7; ++i) {
        files[i] = SYS(open((std::string("/proc/self/ns/") + kinds[i]).c_str(), O_RDONLY | O_CLOEXEC));
    }
    me.wait_for_check();

    for (int i = 0; i < 7; ++i) {
        struct stat file {};
        struct stat own {};
        SYS(fstat(files[i], &file));
        SYS(stat((std::string("/proc/self/ns/") + kinds[i]).c_str(), &own));
        CHECK(file.st_ino == own.st_ino && file.st_dev == own.st_dev, "%s: another namespace", kinds[i]);
    }
}
