// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/stat.hpp"

#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

/// Skips `count` fields that criu doesn't use.
void skipFields(Scanner& scan, int count) {
    for (int passed = 0; passed < count; ++passed)
        if (scan.word().empty())
            scan.expected("more fields");
}

}  // namespace

TaskStat parseStat(std::string_view text) {
    TaskStat stat;
    Scanner scan(text);
    scan.needNumber(stat.pid, "pid");
    scan.blanks();
    scan.need('(', "(comm)");
    // Searches the last parenthesis: comm may contain parentheses, and the fields after it contain none.
    const std::string_view body = scan.rest();
    const std::size_t close = body.rfind(')');
    if (close == std::string_view::npos)
        scan.expected("a closing parenthesis");
    stat.comm = body.substr(0, close);
    scan = Scanner(body.substr(close + 1));

    const std::string_view state = scan.word();
    if (state.size() != 1)
        scan.expected("a state letter");
    stat.state = static_cast<TaskState>(state.front());
    scan.needNumber(stat.ppid, "ppid");
    scan.needNumber(stat.pgrp, "pgrp");
    scan.needNumber(stat.session, "session");
    scan.needNumber(stat.ttyNumber, "tty_nr");
    scan.needNumber(stat.ttyPgrp, "tpgid");
    scan.needNumber(stat.flags, "flags");
    skipFields(scan, 4);  // fault counts
    std::uint64_t systemTime = 0;
    scan.needNumber(stat.cpuTime, "utime");
    scan.needNumber(systemTime, "stime");
    stat.cpuTime += systemTime;
    skipFields(scan, 2);  // times of children
    scan.needNumber(stat.priority, "priority");
    scan.needNumber(stat.nice, "nice");
    scan.needNumber(stat.threads, "num_threads");
    skipFields(scan, 1);  // itrealvalue
    scan.needNumber(stat.startTime, "starttime");
    skipFields(scan, 3);  // vsize, rss, rsslim
    scan.needNumber(stat.startCode, "startcode");
    scan.needNumber(stat.endCode, "endcode");
    scan.needNumber(stat.startStack, "startstack");
    skipFields(scan, 9);  // registers, signal masks, wchan, swap counts
    scan.needNumber(stat.exitSignal, "exit_signal");
    skipFields(scan, 1);  // processor
    scan.needNumber(stat.rtPriority, "rt_priority");
    scan.needNumber(stat.policy, "policy");
    skipFields(scan, 3);  // delays, guest times
    scan.needNumber(stat.startData, "start_data");
    scan.needNumber(stat.endData, "end_data");
    scan.needNumber(stat.startBrk, "start_brk");
    scan.needNumber(stat.argStart, "arg_start");
    scan.needNumber(stat.argEnd, "arg_end");
    scan.needNumber(stat.envStart, "env_start");
    scan.needNumber(stat.envEnd, "env_end");
    scan.needNumber(stat.exitCode, "exit_code");
    return stat;
}

TaskStat readStat(const ProcPid& task, ProcBuffer& buffer) {
    const ErrorContext context([&] { return task.path() + "/stat"; });
    return parseStat(task.read("stat", buffer));
}

}  // namespace criu::kernel
