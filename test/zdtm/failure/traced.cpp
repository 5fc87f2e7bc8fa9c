// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused \b3\b.*traced by.*\b2\b
// zdtm: fails-with-4.2 its message does not say by whom
#include <sys/ptrace.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a task that has a tracer; the error names the tracer's pid") {
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    SYS(ptrace(PTRACE_SEIZE, child, nullptr, nullptr));
    me.wait_for_check();
    SYS(ptrace(PTRACE_INTERRUPT, child, nullptr, nullptr));
    zdtm::wait_status(child);
    SYS(ptrace(PTRACE_DETACH, child, nullptr, nullptr));
    me.finish(child);
}
