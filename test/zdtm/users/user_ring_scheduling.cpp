// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-users yes
// zdtm: fails-with-4.2 it knows no io_uring
// zdtm: ignore thread .*, fd \d+ (SqThread|SqThreadCpu|SqTotalTime|SqWorkTime)
// The restored ring has another kernel thread.
#include <sys/resource.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "ring.hpp"
#include "zdtm.hpp"

namespace {

constexpr int wanted = 7;

// Returns the nice value of the kernel thread of the only ring. /proc shows its tid in another pid namespace.
int kernel_threads_nice_value() {
    constexpr int field = 19;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::istringstream words(zdtm::read_file(task.path() / "stat"));
        std::string word;
        for (int i = 0; i < field; ++i)
            words >> word;
        if (zdtm::read_file(task.path() / "comm").starts_with("iou-sqp-"))
            return std::stoi(word);
    }
    return -1;
}

}  // namespace

ZDTM("the kernel thread of a ring in a user namespace has the nice value of the main thread") {
    SYS(setpriority(PRIO_PROCESS, 0, wanted));
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    ring.spin(5);
    CHECK(kernel_threads_nice_value() == wanted, "nice value %d", kernel_threads_nice_value());
    me.wait_for_check();

    CHECK(kernel_threads_nice_value() == wanted, "nice value %d", kernel_threads_nice_value());
    ring.spin(5);
}
