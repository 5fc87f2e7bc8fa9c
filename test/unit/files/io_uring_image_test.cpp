// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/io_uring.hpp"

#include <linux/io_uring.h>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/files/restored_file.hpp"
#include "images/io-uring.hpp"

using namespace criu;

TEST_CASE("io_uring images: a ring with a kernel thread has few full completion queues", "[io_uring]") {
    constexpr std::uint32_t kEntries = 4;
    IoUringThread thread = IO_URING_THREAD__INIT;
    thread.ring = 1;
    IoUringEntry ring = IO_URING_ENTRY__INIT;
    ring.id = 1;
    ring.setup_flags = IORING_SETUP_SQPOLL;
    ring.thread = &thread;
    ring.sq_entries = ring.cq_entries = kEntries;
    ring.sq_head = ring.sq_tail = ring.cq_head = ring.cq_tail = kEntries * files::kMostThreadRounds;
    CHECK_NOTHROW(files::makeRestoredIoUring(ring));
    SECTION("more queues") {
        ring.sq_head = ring.sq_tail = ring.cq_head = ring.cq_tail = kEntries * (files::kMostThreadRounds + 1);
    }
    SECTION("no completions") {
        ring.cq_entries = 0;
    }
    CHECK_THROWS_AS(files::makeRestoredIoUring(ring), Error);
}
