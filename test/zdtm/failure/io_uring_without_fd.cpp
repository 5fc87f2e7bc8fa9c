// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused thread 3 .*io_uring
// zdtm: fails-with-4.2 its message does not say so
#include <sys/syscall.h>

#include "ring.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("an io_uring that a thread uses by a registered ring descriptor (IORING_REGISTER_RING_FDS)") {
    zdtm::Ring ring(4);
    constexpr unsigned register_ring = 20;
    constexpr unsigned by_place = 1U << 4;
    bool known = true;
    zdtm::Threads threads(1, [&](unsigned, zdtm::Threads& all) {
        io_uring_rsrc_update which{};
        which.offset = ~0U;
        which.data = static_cast<std::uint64_t>(ring.fd());
        known = syscall(SYS_io_uring_register, ring.fd(), register_ring, &which, 1) == 1;
        all.arrive();
        all.wait_release();
        CHECK(syscall(SYS_io_uring_enter, which.offset, 0, 0, by_place, nullptr, std::size_t{0}) == 0, "%s",
              strerror(errno));
    });
    threads.wait_arrived();
    if (!known) {
        zdtm::skip("IORING_REGISTER_RING_FDS: %s", strerror(errno));
    }
    me.wait_for_check();
    threads.finish();
}
