// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/io_uring.hpp"

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"

using namespace criu::kernel;

namespace {

const std::string kHead =
    "pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t36334531\nSqMask:\t0x7\nSqHead:\t12\nSqTail:\t14\nCachedSqHead:"
    "\t12\n"
    "CqMask:\t0xf\nCqHead:\t11\nCqTail:\t12\nCachedCqTail:\t12\n";

}  // namespace

TEST_CASE("io_uring: counters and the lists below them") {
    const IoUringInfo info = parseIoUring(
        kHead +
        "SQEs:\t2\n    4: opcode:NOP, fd:0, flags:0, off:0, addr:0x0, rw_flags:0x0, buf_index:0 user_data:0, e0:0x0\n"
        "    5: opcode:NOP, fd:0, flags:0, off:0, addr:0x0, rw_flags:0x0, buf_index:0 user_data:0, e0:0x0\n"
        "CQEs:\t1\n   11: user_data:7, res:0, flag:0, extra1:0, extra2:0\n\n"
        "SqThread:\t-1\nSqThreadCpu:\t-1\nSqTotalTime:\t0\nSqWorkTime:\t0\n"
        "UserFiles:\t5\n    0: <none>\n    1: /tmp/some\\040data\n    3: pipe:[77]\n"
        "UserBufs:\t3\n    0: 0x7ffc59d3ed60/4096\n    1: <none>\n    2: 0x0/0\n"
        "PollList:\n  op=22, task_works=0\nCqOverflowList:\nNAPI:\tdisabled\n");
    CHECK(info.sqMask == 7);
    CHECK(info.sqTail == 14);
    CHECK(info.sqTaken == 12);
    CHECK(info.cqMask == 15);
    CHECK(info.cqHead == 11);
    CHECK(info.cqPosted == 12);
    CHECK(info.sqShown == 2);
    CHECK(info.sqLarge);
    CHECK(info.cqShown == 1);
    CHECK(info.cqLarge);
    CHECK_FALSE(info.polledByKernel);
    CHECK(info.thread == -1);
    CHECK(info.fileSlots == 5);
    REQUIRE(info.files.size() == 2);
    CHECK(info.files[0].slot == 1);
    CHECK(info.files[0].path == "/tmp/some\\040data");
    CHECK(info.files[1].path == "pipe:[77]");
    CHECK(info.bufferSlots == 3);
    REQUIRE(info.buffers.size() == 1);
    CHECK(info.buffers[0].address == 0x7ffc59d3ed60);
    CHECK(info.buffers[0].size == 4096);
    CHECK(info.waiting == 1);
    CHECK(info.overflowed == 0);
    CHECK_FALSE(info.personalities);
    CHECK_FALSE(info.busyPolling);
}

TEST_CASE("io_uring: what stands against a dump") {
    const IoUringInfo info =
        parseIoUring(kHead +
                     "SQEs:\t0\nCQEs:\t0\nSqThread:\t4711\nSqThreadCpu:\t3\nUserFiles:\t0\nUserBufs:\t0\n"
                     "Personalities:\n    1\nPollList:\n"
                     "CqOverflowList:\n  user_data=1, res=0, flags=0\nNAPI:\tenabled\n");
    CHECK(info.polledByKernel);
    CHECK(info.thread == 4711);
    CHECK(info.personalities);
    CHECK(info.overflowed == 1);
    CHECK(info.busyPolling);
    CHECK(info.sqShown == 0);
    CHECK_FALSE(info.cqLarge);
}

TEST_CASE("io_uring: text that isn't right") {
    CHECK_THROWS_AS(parseIoUring("SqMask:\t0x7\n"), criu::Error);
    CHECK_FALSE(findIoUring("pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t36334531\n"));
    CHECK(findIoUring(kHead));
    CHECK_THROWS_AS(findIoUring(kHead + "SqThread:\tmany\n"), criu::Error);
    CHECK_THROWS_AS(parseIoUring(kHead + "UserBufs:\tmany\n"), criu::Error);
    CHECK_THROWS_AS(parseIoUring(kHead + "UserBufs:\t1\n    0: here\n"), criu::Error);
}
