// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
#include <linux/io_uring.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <memory>

#include "ring.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

namespace {
constexpr unsigned kDeferTaskrun = 1U << 13;  // IORING_SETUP_DEFER_TASKRUN (6.1)

// Holds a ring with registered resources, unread completions and requests that are not submitted.
struct Used {
    // `tells`: the ring has an eventfd. With several eventfds, criu can't find out which one a ring has.
    Used(unsigned flags, bool tells) : ring(8, flags), event(tells ? SYS(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) : -1) {
        ring.spin(21);
        const iovec buffer{bytes, sizeof(bytes)};
        ring.enroll(IORING_REGISTER_BUFFERS, &buffer, 1);
        if (event >= 0) {
            ring.enroll(IORING_REGISTER_EVENTFD, &event, 1);
        }
        ring.queue(IORING_OP_NOP, 100);
        ring.submit(1);
        ring.queue(IORING_OP_NOP, 101);
        check_event();
    }
    void check() {
        CHECK(ring.waiting() == 1 && ring.take(100) == 0, "%u completions wait", ring.waiting());
        ring.submit(1);
        CHECK(ring.take(101) == 0, "the request that waited");
        check_event();
        ring.spin(30);
    }
    void check_event() const {
        eventfd_t count = 0;
        CHECK(event < 0 || (eventfd_read(event, &count) == 0 && count == 1), "%llu events",
              static_cast<unsigned long long>(count));
    }

    zdtm::Ring ring;
    int event;
    char bytes[4096] = {};
};
}  // namespace

ZDTM("rings of io_uring that one thread each created, and that only this thread may use") {
    Used plain(IORING_SETUP_SINGLE_ISSUER, false);
    Used deferred(IORING_SETUP_SINGLE_ISSUER | kDeferTaskrun, false);
    std::unique_ptr<Used> own;
    zdtm::Threads others(
        1, [&](unsigned) { own = std::make_unique<Used>(IORING_SETUP_SINGLE_ISSUER | kDeferTaskrun, true); },
        [&](unsigned) { own->check(); });
    // The first page is mapped: criu must not take its content for arguments of its queries.
    (void)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    me.wait_for_check();

    plain.check();
    deferred.check();
    others.finish();
}
