// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused its main thread has ended while others live on
// zdtm: fails-with-4.2 it takes the process for a zombie
#include <pthread.h>
#include <sys/wait.h>

#include "zdtm.hpp"

namespace {

void* work(void*) {
    for (;;)
        pause();
}

}  // namespace

ZDTM("a dump refuses a process whose main thread has ended while another thread runs") {
    const pid_t child = SYS(fork());
    if (child == 0) {
        pthread_t thread{};
        pthread_create(&thread, nullptr, work, nullptr);
        pthread_exit(nullptr);
    }
    const std::string status = "/proc/" + std::to_string(child) + "/status";
    while (zdtm::status_field(status, "State").front() != 'Z')
        usleep(1000);
    me.wait_for_check();
    CHECK(zdtm::status_field(status, "Threads") == "2", "it has %s threads",
          zdtm::status_field(status, "Threads").c_str());
    SYS(kill(child, SIGKILL));
    int how = 0;
    SYS(waitpid(child, &how, 0));
    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL, "it ended with %#x", how);
}
