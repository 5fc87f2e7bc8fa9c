// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring .*\(IORING_SETUP_SQPOLL\)
// zdtm: fails-with-4.2 its message does not say so
#include <sys/syscall.h>

#include <filesystem>

#include "ring.hpp"
#include "zdtm.hpp"

namespace {

// Returns true if the kernel thread of the ring has its own name: it begins with that of its process.
bool is_named() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
        if (zdtm::read_file(task.path() / "comm").starts_with("iou-sqp-"))
            return true;
    return false;
}

}  // namespace

ZDTM("a dump refuses an io_uring whose requests a kernel thread submits") {
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    while (!is_named())
        usleep(1000);
    me.wait_for_check();
    SYS(syscall(SYS_io_uring_enter, ring.fd(), 0, 0, 0, nullptr, 0));
    CHECK(ring.waiting() == 0, "%u completions", ring.waiting());
}
