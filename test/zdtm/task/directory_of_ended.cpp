// SPDX-License-Identifier: GPL-2.0-only
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("a working directory of an ended process in /proc") {
    const pid_t child = SYS(fork());
    if (child == 0) {
        pause();
    }
    SYS(chdir(("/proc/" + std::to_string(child)).c_str()));
    zdtm::kill_and_reap(child);
    char buffer[64];
    CHECK(getcwd(buffer, sizeof(buffer)) == nullptr && errno == ENOENT, "%s", buffer);
    me.wait_for_check();
    CHECK(getcwd(buffer, sizeof(buffer)) == nullptr && errno == ENOENT, "%s", buffer);
    CHECK(access("status", F_OK) == -1, "there is a process");
    const ssize_t length = SYS(readlink("/proc/self/cwd", buffer, sizeof(buffer)));
    const std::string link(buffer, static_cast<std::size_t>(length));
    CHECK(link == "/proc/" + std::to_string(child) + " (deleted)", "%s", link.c_str());
    CHECK(kill(child, 0) == -1 && errno == ESRCH, "process %d is alive", child);
}
