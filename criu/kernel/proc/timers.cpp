// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/timers.hpp"

#include <signal.h>

#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

/// Parses "signal/pid.17", "thread/tid.18" or "none/pid.17".
void parseNotify(Scanner& scan, PosixTimer& timer) {
    scan.blanks();
    const std::string_view way = scan.until('/');
    if (way == "signal")
        timer.notify = SIGEV_SIGNAL;
    else if (way == "none")
        timer.notify = SIGEV_NONE;
    else if (way == "thread")
        timer.notify = SIGEV_THREAD;
    else
        fail("timer notification \"{}\" is unknown", way);
    if (scan.skip("/tid."))
        timer.notify |= SIGEV_THREAD_ID;
    else
        scan.need("/pid.", "/pid. or /tid.");
    scan.needNumber(timer.target, "pid or tid");
}

}  // namespace

std::vector<PosixTimer> parseTimers(std::string_view text) {
    std::vector<PosixTimer> timers;
    // Each timer has four lines, and its last line is ClockID.
    bool complete = true;
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        Scanner scan(line);
        if (scan.skip("ID:")) {
            if (!complete)
                fail("timer {} has no ClockID line", timers.back().id);
            timers.emplace_back();
            scan.needNumber(timers.back().id, "a timer id");
            complete = false;
            continue;
        }
        if (timers.empty())
            fail("text starts with \"{}\" instead of ID:", line.substr(0, 40));
        PosixTimer& timer = timers.back();
        if (scan.skip("signal:")) {
            scan.needNumber(timer.signal, "a signal");
            scan.need('/', "a slash");
            scan.needNumber(timer.value, "a value", 16);
        } else if (scan.skip("notify:")) {
            parseNotify(scan, timer);
        } else if (scan.skip("ClockID:")) {
            scan.needNumber(timer.clock, "a clock id");
            complete = true;
        }
    }
    if (!complete)
        fail("timer {} has no ClockID line", timers.back().id);
    return timers;
}

std::vector<PosixTimer> readTimers(const ProcPid& process, ProcBuffer& buffer) {
    const ErrorContext context([&] { return process.path() + "/timers"; });
    return parseTimers(process.read("timers", buffer));
}

}  // namespace criu::kernel
