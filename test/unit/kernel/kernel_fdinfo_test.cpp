// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/fdinfo.hpp"

#include <fcntl.h>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"

using namespace criu::kernel;

namespace {

const std::string kCommon = "pos:\t4096\nflags:\t02100002\nmnt_id:\t17\nino:\t1039\n";

}  // namespace

TEST_CASE("fdinfo: common lines") {
    const FdInfo info = parseFdInfo(kCommon + "scm_fds: 3\ndrm-driver:\tamdgpu \n");
    CHECK(info.pos == 4096);
    CHECK(info.flags == 02100002);
    CHECK(info.mountId == 17);
    CHECK(info.inode == 1039u);
    CHECK(info.scmFds == 3u);
    CHECK(info.locks.empty());
    CHECK(info.value("drm-driver") == "amdgpu");
    CHECK_FALSE(info.value("drm").has_value());
    const FdInfo old = parseFdInfo("pos:\t-1\nflags:\t0100000");
    CHECK(old.pos == -1);
    CHECK_FALSE(old.mountId.has_value());
    CHECK_FALSE(old.inode.has_value());
    for (const char* const text : {"", "pos:\t0\n", "flags:\t02\n", "pos:\t99999999999999999999\nflags:\t0\n",
                                   "pos:\t0\nflags:\t9\n", "pos:\t0\nflags:\t0\nmnt_id:\n"})
        CHECK_THROWS_AS(parseFdInfo(text), criu::Error);
}

TEST_CASE("fdinfo: lock lines of all kinds") {
    const FdInfo info = parseFdInfo(kCommon +
                                    "lock:\t1: POSIX  ADVISORY  WRITE 123 fe:10:77 5 14\n"
                                    "lock:\t2: OFDLCK ADVISORY  READ -1 00:2a:18446744073709551615 0 EOF\n"
                                    "lock:\t3: FLOCK  ADVISORY  WRITE 0 fe:00:77 0 EOF\n"
                                    "lock:\t4: LEASE  BREAKING  UNLCK 123 fe:00:77 0 EOF\n"
                                    "lock:\t5: DELEG  ACTIVE    READ 9 <none>:0 0 EOF\n");
    REQUIRE(info.locks.size() == 5);
    CHECK(info.locks[0].kind == LockKind::Posix);
    CHECK(info.locks[0].access == LockAccess::Write);
    CHECK(info.locks[0].pid == 123);
    CHECK(info.locks[0].devMajor == 0xfe);
    CHECK(info.locks[0].devMinor == 0x10);
    CHECK(info.locks[0].inode == 77);
    CHECK(info.locks[0].start == 5);
    CHECK(info.locks[0].end == 14);
    CHECK(info.locks[1].kind == LockKind::Ofd);
    CHECK(info.locks[1].pid == -1);
    CHECK(info.locks[1].inode == UINT64_MAX);
    CHECK(info.locks[1].end == kLockToEof);
    CHECK(info.locks[2].kind == LockKind::Flock);
    CHECK(info.locks[3].kind == LockKind::Lease);
    CHECK(info.locks[3].lease == LeaseState::Breaking);
    CHECK(info.locks[3].access == LockAccess::Unlock);
    CHECK(info.locks[4].lease == LeaseState::Active);
    CHECK(info.locks[4].inode == 0);
    const FileLock waiter = parseFileLock("12:  -> POSIX  ADVISORY  READ 5 fe:00:3 0 EOF");
    CHECK(waiter.id == 12);
    CHECK(waiter.blocked);
    for (const char* const text :
         {"", "1", "1: POSIX", "1: POSIX ADVISORY WRITE", "1: POSIX ADVISORY EAT 1 fe:00:3 0 1",
          "1: POSIX ADVISORY WRITE 1 fe:00 0 1", "1: POSIX ADVISORY WRITE 1 fe:00:3 0"})
        CHECK_THROWS_AS(parseFileLock(text), criu::Error);
}

TEST_CASE("fdinfo: eventfd, signalfd, timerfd, pidfd, tun") {
    const EventFdInfo event =
        parseEventFd(kCommon + "eventfd-count: fffffffffffffffe\neventfd-id: 1\neventfd-semaphore: 1\n");
    CHECK(event.count == 0xfffffffffffffffe);
    CHECK(event.id == 1);
    CHECK(event.semaphore == true);
    CHECK_FALSE(parseEventFd("eventfd-count:                5\n").semaphore.has_value());
    CHECK_THROWS_AS(parseEventFd(kCommon), criu::Error);
    CHECK_THROWS_AS(parseEventFd("eventfd-count: 1ffffffffffffffff\n"), criu::Error);

    CHECK(parseSignalFd("sigmask:\t8000000200000200\n") == 0x8000000200000200);
    CHECK_THROWS_AS(parseSignalFd("sigmask:\t8000000200000200x\n"), criu::Error);

    const TimerFdInfo timer = parseTimerFd(
        "clockid: 7\nticks: 18446744073709551615\nsettime flags: 03\nit_value: (5, 999999999)\nit_interval: (1, 2)\n");
    CHECK(timer.clockId == 7);
    CHECK(timer.ticks == UINT64_MAX);
    CHECK(timer.settimeFlags == 3);
    CHECK(timer.value.tv_sec == 5);
    CHECK(timer.value.tv_nsec == 999999999);
    CHECK(timer.interval.tv_sec == 1);
    CHECK(timer.interval.tv_nsec == 2);
    CHECK_THROWS_AS(parseTimerFd("clockid: 7\nticks: 1\nsettime flags: 03\nit_value: (5\nit_interval: (1, 2)\n"),
                    criu::Error);

    const PidFdInfo process = parsePidFd(kCommon + "Pid:\t12\nNSpid:\t12\t3\n");
    CHECK(process.pid == 12);
    CHECK(process.nsPid == std::vector<pid_t>{12, 3});
    CHECK(parsePidFd("Pid:\t-1\n").pid == -1);
}

TEST_CASE("fdinfo: epoll targets of new and old kernels") {
    const auto targets = parseEpoll(kCommon +
                                    "tfd:        5 events: 80000019 data: ffffffffffffffff  pos:7 ino:bb49 sdev:f\n"
                                    "tfd:  1000000 events:        0 data:                0\n");
    REQUIRE(targets.size() == 2);
    CHECK(targets[0].fd == 5);
    CHECK(targets[0].events == 0x80000019);
    CHECK(targets[0].data == UINT64_MAX);
    CHECK(targets[0].pos == 7);
    CHECK(targets[0].inode == 0xbb49u);
    CHECK(targets[0].device == 0xfu);
    CHECK(targets[1].fd == 1000000);
    CHECK_FALSE(targets[1].pos.has_value());
    CHECK(parseEpoll(kCommon).empty());
    CHECK_THROWS_AS(parseEpoll("tfd: 5 events: 19\n"), criu::Error);
}

TEST_CASE("fdinfo: inotify and fanotify with file handles") {
    const auto watches = parseInotify(
        "inotify wd:1f ino:3c51a sdev:fe00000 mask:fff ignored_mask:0 fhandle-bytes:8 fhandle-type:81 "
        "f_handle:1ac50300000000ff\n"
        "inotify wd:2 ino:3c51a sdev:fe00000 mask:fff ignored_mask:0 \n");
    REQUIRE(watches.size() == 2);
    CHECK(watches[0].wd == 0x1f);
    CHECK(watches[0].inode == 0x3c51a);
    CHECK(watches[0].device == 0xfe00000);
    CHECK(watches[0].mask == 0xfff);
    REQUIRE(watches[0].handle.has_value());
    CHECK(watches[0].handle->type == 0x81);
    CHECK(watches[0].handle->bytes == std::vector<std::uint8_t>{0x1a, 0xc5, 3, 0, 0, 0, 0, 0xff});
    CHECK_FALSE(watches[1].handle.has_value());

    const FanotifyInfo group = parseFanotify(
        "fanotify flags:10 event-flags:8002\n"
        "fanotify sdev:fe00000 mflags:0 mask:20 ignored_mask:1\n"
        "fanotify mnt_id:1b mflags:40 mask:20 ignored_mask:0\n"
        "fanotify ino:3c51a sdev:fe00000 mflags:40 mask:20 ignored_mask:20 fhandle-bytes:2 fhandle-type:1 "
        "f_handle:1ac5\n");
    CHECK(group.flags == 0x10);
    CHECK(group.eventFlags == 0x8002);
    REQUIRE(group.marks.size() == 3);
    CHECK(group.marks[0].kind == FanotifyMarkKind::Filesystem);
    CHECK(group.marks[0].ignoredMask == 1);
    CHECK(group.marks[1].kind == FanotifyMarkKind::Mount);
    CHECK(group.marks[1].mountId == 0x1b);
    CHECK(group.marks[1].flags == 0x40);
    CHECK(group.marks[2].kind == FanotifyMarkKind::Inode);
    CHECK(group.marks[2].inode == 0x3c51a);
    CHECK(group.marks[2].handle.value().bytes.size() == 2);

    const std::string start = "inotify wd:1 ino:1 sdev:1 mask:1 ignored_mask:0 fhandle-bytes:";
    for (const char* const end : {"8 fhandle-type:1 f_handle:12\n", "ffffffff fhandle-type:1 f_handle:12\n",
                                  "1 fhandle-type:1 f_handle:zz\n", "1 fhandle-type:1\n", "1\n"})
        CHECK_THROWS_AS(parseInotify(start + end), criu::Error);
    CHECK_THROWS_AS(parseFanotify(kCommon), criu::Error);
}

TEST_CASE("fdinfo: BPF maps") {
    const BpfMapInfo map = parseBpfMap(
        "map_type:\t1\nkey_size:\t4\nvalue_size:\t8\nmax_entries:\t10\nmap_flags:\t0x81\nmap_extra:\t0xff\n"
        "memlock:\t4096\nmap_id:\t42\nfrozen:\t1\n");
    CHECK(map.type == 1);
    CHECK(map.keySize == 4);
    CHECK(map.valueSize == 8);
    CHECK(map.maxEntries == 10);
    CHECK(map.flags == 0x81);
    CHECK(map.extra == 0xffu);
    CHECK(map.memlock == 4096);
    CHECK(map.id == 42);
    CHECK(map.frozen);
    CHECK_THROWS_AS(parseBpfMap("map_type:\t1\n"), criu::Error);
}
