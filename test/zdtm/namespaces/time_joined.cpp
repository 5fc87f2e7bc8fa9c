// SPDX-License-Identifier: GPL-2.0-only
// zdtm: restore-options --join-ns time:/mnt/joined
// zdtm: modes once,five
#include <sys/mount.h>
#include <sys/stat.h>

#include <ctime>

#include "clocks.hpp"
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a restore with --join-ns joins a time namespace and its clocks") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, nullptr));
    zdtm::output_of(
        "touch /mnt/joined && unshare --fork --time --monotonic 2000000 "
        "sh -c 'mount --bind /proc/$$/ns/time /mnt/joined'");
    const std::int64_t before = zdtm::read_clock(CLOCK_MONOTONIC);
    me.wait_for_check();
    const std::int64_t gone = zdtm::read_clock(CLOCK_MONOTONIC) - before;
    CHECK(gone >= 2'000'000 * zdtm::second, "the clock has gone on by %ld ns only", gone);
    struct stat here {};
    struct stat joined {};
    SYS(stat("/proc/self/ns/time", &here));
    SYS(stat("/mnt/joined", &joined));
    CHECK(here.st_ino == joined.st_ino, "in %lu, not in %lu", here.st_ino, joined.st_ino);
}
