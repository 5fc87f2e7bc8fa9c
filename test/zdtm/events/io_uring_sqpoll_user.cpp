// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
// zdtm: ignore thread .*, fd \d+ (SqThread|SqThreadCpu|SqTotalTime|SqWorkTime)
// The restored ring has another kernel thread.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

namespace {

constexpr const char* secret = "for root only";

int open_by_thread(zdtm::Ring& ring, const char* path) {
    io_uring_sqe& request = ring.queue(IORING_OP_OPENAT, 3);
    request.fd = AT_FDCWD;
    request.addr = reinterpret_cast<std::uintptr_t>(path);
    request.open_flags = O_RDONLY | O_CLOEXEC;
    ring.submit(1);
    return ring.take(3);
}

void check_user(zdtm::Ring& ring) {
    const int denied = open_by_thread(ring, secret);
    CHECK(denied == -EACCES, "the kernel thread opens a file of root: %d", denied);
    const int allowed = open_by_thread(ring, "for all");
    CHECK(allowed >= 0, "the kernel thread can't open a file: %s", strerror(-allowed));
    SYS(close(allowed));
}

// Sets the soft limit of a resource, and keeps the hard limit.
void limit(__rlimit_resource which, rlim_t value) {
    rlimit limits{};
    SYS(getrlimit(which, &limits));
    limits.rlim_cur = value;
    SYS(setrlimit(which, &limits));
}

rlim_t limit_of(__rlimit_resource which) {
    rlimit limits{};
    SYS(getrlimit(which, &limits));
    return limits.rlim_cur;
}

void use_ring(zdtm::Task& task) {
    SYS(setresgid(1000, 1000, 1000));
    SYS(setresuid(1000, 1000, 1000));
    SYS(prctl(PR_SET_DUMPABLE, 1));
    zdtm::Ring ring(8, IORING_SETUP_SQPOLL | IORING_SETUP_SINGLE_ISSUER);
    check_user(ring);
    const rlim_t files = 10;
    const rlim_t memory = rlim_t{1} << 31;
    limit(RLIMIT_NOFILE, files);
    limit(RLIMIT_AS, memory);
    task.wait_for_check();
    CHECK(limit_of(RLIMIT_NOFILE) == files, "limit of files");
    CHECK(limit_of(RLIMIT_AS) == memory, "limit of memory");
    check_user(ring);
    ring.spin(50);
}

}  // namespace

ZDTM("io_uring: the kernel thread of a ring (IORING_SETUP_SQPOLL) has the credentials of its process") {
    zdtm::write_file(secret, "text");
    SYS(chmod(secret, 0600));
    zdtm::write_file("for all", "text");
    SYS(chmod("for all", 0644));
    SYS(chmod(".", 0755));
    const pid_t one = me.start_child(use_ring);
    const pid_t other = me.start_child(use_ring);
    zdtm::Threads threads(
        4, [](unsigned) {}, [](unsigned) {});
    me.wait_for_check();
    threads.finish();
    me.finish(one);
    me.finish(other);
}
