// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/status.hpp"

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/kernel/interface.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/kernel/proc/stat.hpp"

using namespace criu::kernel;

namespace {

const std::string kStatus =
    "Name:\tworker\n"
    "Umask:\t0027\n"
    "State:\tt (tracing stop)\n"
    "Tgid:\t100\n"
    "Ngid:\t0\n"
    "Pid:\t101\n"
    "PPid:\t1\n"
    "TracerPid:\t55\n"
    "Uid:\t1\t2\t3\t4294967294\n"
    "Gid:\t5\t6\t7\t8\n"
    "FDSize:\t256\n"
    "Groups:\t4 24 65534 \n"
    "NStgid:\t100\t7\t1\n"
    "NSpid:\t101\t8\t2\n"
    "NSpgid:\t100\t7\t1\n"
    "NSsid:\t90\t0\t0\n"
    "VmLck:\t      12 kB\n"
    "VmRSS:\t    1760 kB\n"
    "RssAnon:\t    1230 kB\n"
    "VmSwap:\t      20 kB\n"
    "HugetlbPages:\t    4096 kB\n"
    "THP_enabled:\t0\n"
    "Threads:\t5\n"
    "SigQ:\t3/96365\n"
    "SigPnd:\t0000000000000001\n"
    "ShdPnd:\t8000000000000000\n"
    "SigBlk:\tfffffffe7ffbfeff\n"
    "SigIgn:\t0000000000001000\n"
    "SigCgt:\t0000000180000000\n"
    "CapInh:\t0000000000000000\n"
    "CapPrm:\t000001fffeffffff\n"
    "CapEff:\t000001fffeffffff\n"
    "CapBnd:\t000001ffffffffff\n"
    "CapAmb:\t0000000000000400\n"
    "NoNewPrivs:\t1\n"
    "Seccomp:\t2\n"
    "Seccomp_filters:\t17\n"
    "Speculation_Store_Bypass:\tthread force mitigated\n"
    "SpeculationIndirectBranch:\talways enabled\n"
    "A_line_of_the_future: 1 2 3\n";

/// Lines about control-flow protection, if this processor's kernel shows such lines.
const std::string kProtections = kProtectionLine.empty() ? ""
                                                         : std::string(kProtectionLine) + ":\tshstk wrss \n" +
                                                               std::string(kLockedProtectionLine) + ":\t\n";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

std::string failureOf(const std::string& text) {
    try {
        static_cast<void>(parseStatus(text));
    } catch (const criu::Error& error) {
        return error.what();
    }
    return "no error";
}

const std::string kStatTail =
    " t 1 100 90 34817 -1 4194624 9 0 0 0 1 2 0 0 -51 -20 5 0 125102 3133440 412 18446744073709551615 94091191730176 "
    "94091191750057 140722600977216 0 0 0 0 0 0 0 0 0 17 1 50 1 0 0 0 94091191766064 94091191767680 94091211931648 "
    "140722600979052 140722600979090 140722600979091 140722600980459 256\n";

}  // namespace

TEST_CASE("status: every field lands in its place") {
    const TaskStatus status = parseStatus(kStatus + kProtections);
    CHECK(status.name == "worker");
    CHECK(status.umask == 0027u);
    CHECK(status.state == TaskState::Tracing);
    CHECK(status.tgid == 100);
    CHECK(status.pid == 101);
    CHECK(status.ppid == 1);
    CHECK(status.tracerPid == 55);
    CHECK(status.uid == CredentialIds{1, 2, 3, 4294967294});
    CHECK(status.gid == CredentialIds{5, 6, 7, 8});
    CHECK(status.fdSize == 256);
    CHECK(status.groups == std::vector<std::uint32_t>{4, 24, 65534});
    CHECK(status.nsTgid == std::vector<pid_t>{100, 7, 1});
    CHECK(status.nsPid == std::vector<pid_t>{101, 8, 2});
    CHECK(status.nsPgid == std::vector<pid_t>{100, 7, 1});
    CHECK(status.nsSid == std::vector<pid_t>{90, 0, 0});
    CHECK(status.vmLocked == 12u * 1024);
    CHECK(status.vmRss == 1760u * 1024);
    CHECK(status.rssAnonymous == 1230u * 1024);
    CHECK(status.vmSwap == 20u * 1024);
    CHECK(status.hugetlbPages == 4096u * 1024);
    CHECK(status.thpEnabled == false);
    CHECK(status.threads == 5);
    CHECK(status.queuedSignals == 3);
    CHECK(status.queuedSignalsLimit == 96365);
    CHECK(status.pending == 1);
    CHECK(status.sharedPending == 0x8000000000000000);
    CHECK(status.blocked == 0xfffffffe7ffbfeff);
    CHECK(status.ignored == 0x1000);
    CHECK(status.caught == 0x180000000);
    CHECK(status.capInheritable == 0);
    CHECK(status.capPermitted == 0x1fffeffffff);
    CHECK(status.capEffective == 0x1fffeffffff);
    CHECK(status.capBounding == 0x1ffffffffff);
    CHECK(status.capAmbient == 0x400);
    CHECK(status.noNewPrivs == true);
    CHECK(status.seccomp == SeccompMode::Filter);
    CHECK(status.seccompFilters == 17u);
    CHECK(status.speculationStoreBypass == "thread force mitigated");
    CHECK(status.speculationIndirectBranch == "always enabled");
    CHECK(status.shadowStack == !kProtections.empty());
    CHECK_FALSE(status.shadowStackLocked);
}

TEST_CASE("status: a name may hold anything, escaped or not") {
    CHECK(parseStatus(replaced(kStatus, "worker", "a\\nPid:\\\\ \t)")).name == "a\nPid:\\ \t)");
    CHECK(parseStatus(replaced(kStatus, "worker", "")).name.empty());
    CHECK(parseStatus(replaced(kStatus, "worker", "trailing\\")).name == "trailing\\");
    CHECK(parseStatus(replaced(kStatus, "worker", "Tgid:\t9")).tgid == 100);
}

TEST_CASE("status: lines that kernels may lack leave their fields empty") {
    const TaskStatus zombie = parseStatus(replaced(kStatus, "VmLck:\t      12 kB\nVmRSS:\t    1760 kB\n", ""));
    CHECK_FALSE(zombie.vmLocked.has_value());
    CHECK_FALSE(zombie.vmRss.has_value());
    const TaskStatus old =
        parseStatus(replaced(replaced(kStatus, "NSpid:\t101\t8\t2\n", ""), "Seccomp:\t2\nSeccomp_filters:\t17\n", ""));
    CHECK(old.nsPid.empty());
    CHECK_FALSE(old.seccomp.has_value());
    CHECK_FALSE(old.seccompFilters.has_value());
    CHECK(parseStatus(replaced(kStatus, "4 24 65534 ", " ")).groups.empty());
}

TEST_CASE("status: order of lines doesn't matter") {
    const std::string moved = replaced(kStatus, "Pid:\t101\n", "") + "Pid:\t77\n";
    CHECK(parseStatus(moved).pid == 77);
}

TEST_CASE("status: a thread that seccomp has ended has filters") {
    CHECK(parseStatus(replaced(kStatus, "Seccomp:\t2", "Seccomp:\t3")).seccomp == SeccompMode::Filter);
}

TEST_CASE("status: missing lines, bad and huge numbers are refused by name") {
    CHECK(failureOf("") == "line Name is missing");
    CHECK(failureOf(replaced(kStatus, "PPid:\t1\n", "")) == "line PPid is missing");
    CHECK(failureOf(kStatus.substr(0, kStatus.find("CapBnd"))) == "line CapBnd is missing");
    CHECK(failureOf(replaced(kStatus, "PPid:\t1\n", "PPid:\tx\n")).find("line PPid: expected a number") == 0);
    CHECK(failureOf(replaced(kStatus, "Tgid:\t100", "Tgid:\t99999999999")).find("line Tgid:") == 0);
    CHECK(failureOf(replaced(kStatus, "SigBlk:\tf", "SigBlk:\tff")).find("line SigBlk:") == 0);
    CHECK(failureOf(replaced(kStatus, "Uid:\t1\t2\t3\t4294967294", "Uid:\t1\t2\t3")).find("line Uid:") == 0);
    CHECK(failureOf(replaced(kStatus, "SigQ:\t3/96365", "SigQ:\t3")).find("line SigQ:") == 0);
    CHECK(failureOf(replaced(kStatus, "Seccomp:\t2", "Seccomp:\t4")).find("line Seccomp:") == 0);
    CHECK(failureOf(replaced(kStatus, "State:\tt (tracing stop)", "State:\t")).find("line State:") == 0);
}

TEST_CASE("stat: fields behind a name with parentheses and newlines") {
    for (const std::string name : {"plain", "a) R (b", ")", "", "two\nlines) Z 1 1 1", "((("}) {
        const TaskStat stat = parseStat("4242 (" + name + ")" + kStatTail);
        CHECK(stat.pid == 4242);
        CHECK(stat.comm == name);
        CHECK(stat.state == TaskState::Tracing);
        CHECK(stat.ppid == 1);
        CHECK(stat.pgrp == 100);
        CHECK(stat.session == 90);
        CHECK(stat.ttyNumber == 34817);
        CHECK(stat.ttyPgrp == -1);
        CHECK(stat.flags == 4194624);
        CHECK(stat.priority == -51);
        CHECK(stat.nice == -20);
        CHECK(stat.threads == 5);
        CHECK(stat.startTime == 125102);
        CHECK(stat.startCode == 94091191730176);
        CHECK(stat.endCode == 94091191750057);
        CHECK(stat.startStack == 140722600977216);
        CHECK(stat.exitSignal == 17);
        CHECK(stat.rtPriority == 50);
        CHECK(stat.policy == 1);
        CHECK(stat.startData == 94091191766064);
        CHECK(stat.endData == 94091191767680);
        CHECK(stat.startBrk == 94091211931648);
        CHECK(stat.argStart == 140722600979052);
        CHECK(stat.argEnd == 140722600979090);
        CHECK(stat.envStart == 140722600979091);
        CHECK(stat.envEnd == 140722600980459);
        CHECK(stat.exitCode == 256);
    }
}

TEST_CASE("stat: text cut anywhere is refused") {
    const std::string whole = "4242 (x)" + kStatTail;
    for (std::size_t length = 0; length + 4 < whole.size(); ++length)
        CHECK_THROWS_AS(parseStat(whole.substr(0, length)), criu::Error);
    CHECK_THROWS_AS(parseStat("1 (x) SS" + kStatTail.substr(2)), criu::Error);
}

TEST_CASE("octal escapes are undone for the given bytes only") {
    CHECK(decodeOctal("a\\040b\\011c", " \t") == "a b\tc");
    CHECK(decodeOctal("a\\040b\\012c", "\n") == "a\\040b\nc");
    CHECK(decodeOctal("\\134040", " \\") == "\\040");
    CHECK(decodeOctal("\\04", " ") == "\\04");
    CHECK(decodeOctal("\\089\\", " ") == "\\089\\");
    CHECK(decodeOctal("\\777", " ") == "\\777");
    CHECK(decodeOctal("", " ").empty());
}
