// SPDX-License-Identifier: GPL-2.0-only
// Short files of /proc/PID.
#include <signal.h>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/kernel/proc/timers.hpp"

using namespace criu::kernel;

namespace {

const std::string kLimits =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              1                    unlimited            seconds   \n"
    "Max file size             2                    unlimited            bytes     \n"
    "Max data size             3                    unlimited            bytes     \n"
    "Max stack size            4                    18446744073709551614 bytes     \n"
    "Max core file size        5                    unlimited            bytes     \n"
    "Max resident set          6                    unlimited            bytes     \n"
    "Max processes             7                    96365                processes \n"
    "Max open files            8                    20000                files     \n"
    "Max locked memory         9                    8388608              bytes     \n"
    "Max address space         10                   unlimited            bytes     \n"
    "Max file locks            11                   unlimited            locks     \n"
    "Max pending signals       12                   96365                signals   \n"
    "Max msgqueue size         13                   819200               bytes     \n"
    "Max nice priority         14                   0                    \n"
    "Max realtime priority     15                   0                    \n"
    "Max realtime timeout      unlimited            16                   us        \n";

}  // namespace

TEST_CASE("limits: all sixteen, in RLIMIT order") {
    const ResourceLimits limits = parseLimits(kLimits);
    for (std::size_t resource = 0; resource < 15; ++resource)
        CHECK(limits[resource].rlim_cur ==
              (std::array<rlim_t, 15>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})[resource]);
    CHECK(limits[RLIMIT_CPU].rlim_max == RLIM_INFINITY);
    CHECK(limits[RLIMIT_STACK].rlim_max == RLIM_INFINITY - 1);
    CHECK(limits[RLIMIT_NOFILE].rlim_cur == 8);
    CHECK(limits[RLIMIT_NOFILE].rlim_max == 20000);
    CHECK(limits[RLIMIT_RTTIME].rlim_cur == RLIM_INFINITY);
    CHECK(limits[RLIMIT_RTTIME].rlim_max == 16);
    std::string missing = kLimits;
    missing.erase(missing.find("Max open files"), 15);
    CHECK_THROWS_AS(parseLimits(missing), criu::Error);
    CHECK_THROWS_AS(parseLimits(kLimits.substr(0, kLimits.find("16   "))), criu::Error);
    CHECK_THROWS_AS(parseLimits(""), criu::Error);
}

TEST_CASE("timers: each kind of notification") {
    const auto timers = parseTimers(
        "ID: 3\nsignal: 60/00007fff86e452a8\nnotify: signal/pid.2634\nClockID: 0\n"
        "ID: 2147483647\nsignal: 0/0\nnotify: signal/tid.7\nClockID: -6\n"
        "ID: 1\nsignal: 14/ffffffffffffffff\nnotify: none/pid.1\nClockID: 1\n"
        "ID: 0\nsignal: 14/1\nnotify: thread/pid.1\nClockID: 11");
    REQUIRE(timers.size() == 4);
    CHECK(timers[0].id == 3);
    CHECK(timers[0].signal == 60);
    CHECK(timers[0].value == 0x7fff86e452a8);
    CHECK(timers[0].notify == SIGEV_SIGNAL);
    CHECK(timers[0].target == 2634);
    CHECK(timers[0].clock == 0);
    CHECK(timers[1].id == 2147483647);
    CHECK(timers[1].notify == SIGEV_THREAD_ID);
    CHECK(timers[1].target == 7);
    CHECK(timers[1].clock == -6);
    CHECK(timers[2].notify == SIGEV_NONE);
    CHECK(timers[2].value == UINT64_MAX);
    CHECK(timers[3].notify == SIGEV_THREAD);
    CHECK(parseTimers("").empty());
    for (const char* const text : {"signal: 1/2\n", "ID: 1\n", "ID: 1\nsignal: 1/2\nnotify: signal/pid.1\nID: 2\n",
                                   "ID: x\n", "ID: 1\nsignal: 1\nClockID: 1\n", "ID: 1\nnotify: signal\nClockID: 1\n",
                                   "ID: 1\nnotify: post/pid.1\nClockID: 1\n"})
        CHECK_THROWS_AS(parseTimers(text), criu::Error);
}

TEST_CASE("children, auxv, autogroup, namespace links") {
    CHECK(parseChildren("12 13 ") == std::vector<pid_t>{12, 13});
    CHECK(parseChildren("").empty());
    CHECK_THROWS_AS(parseChildren("12 x"), criu::Error);

    const std::array<std::uint64_t, 4> pairs{6, 4096, 0, 0};
    const std::string_view bytes(reinterpret_cast<const char*>(pairs.data()), sizeof(pairs));
    CHECK(parseAuxv(bytes) == std::vector<std::uint64_t>{6, 4096, 0, 0});
    CHECK(parseAuxv("").empty());
    CHECK_THROWS_AS(parseAuxv(bytes.substr(1)), criu::Error);

    CHECK(parseAutogroup("/autogroup-13 nice -5\n").value().id == 13);
    CHECK(parseAutogroup("/autogroup-13 nice -5\n").value().nice == -5);
    CHECK_FALSE(parseAutogroup("").has_value());
    CHECK_THROWS_AS(parseAutogroup("/autogroup-"), criu::Error);

    CHECK(parseNamespaceLink("time:[4026531834]") == 4026531834u);
    for (const char* const text : {"", "time", "time:[", "time:[x]", "time:[4026531834", "time:[99999999999]"})
        CHECK_THROWS_AS(parseNamespaceLink(text), criu::Error);
    CHECK(namespaceName(NamespaceKind::Mount) == "mnt");
}

TEST_CASE("cgroup lines: controllers, named hierarchies, paths with colons") {
    const auto groups = parseCgroups("9:name=systemd:/\n4:cpu,cpuacct:/a:b (deleted)\n0::/../x\n");
    REQUIRE(groups.size() == 3);
    CHECK(groups[0].hierarchy == 9);
    CHECK(groups[0].controllers == std::vector<std::string>{"name=systemd"});
    CHECK(groups[0].path == "/");
    CHECK(groups[1].controllers == std::vector<std::string>{"cpu", "cpuacct"});
    CHECK(groups[1].path == "/a:b (deleted)");
    CHECK(groups[2].hierarchy == 0);
    CHECK(groups[2].controllers.empty());
    CHECK(groups[2].path == "/../x");
    for (const char* const text : {"x", "9", "9:cpu", "\n"})
        CHECK_THROWS_AS(parseCgroups(text), criu::Error);
}
