// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/tasks.hpp"

#include <fmt/format.h>

#include "criu/kernel/proc/scan.hpp"
#include "criu/kernel/proc/status.hpp"

namespace criu::kernel {

std::vector<pid_t> readThreads(const ProcPid& process) {
    return process.numbers("task");
}

std::vector<int> readDescriptors(const ProcPid& task) {
    return task.numbers("fd");
}

std::vector<pid_t> parseChildren(std::string_view text) {
    std::vector<pid_t> pids;
    Scanner scan(text);
    pid_t pid = 0;
    while (scan.number(pid))
        pids.push_back(pid);
    scan.blanks();
    scan.skip('\n');
    if (!scan.done())
        scan.expected("a pid");
    return pids;
}

std::vector<pid_t> readChildren(const ProcPid& process, pid_t tid, ProcBuffer& buffer) {
    const std::string name = fmt::format("task/{}/children", tid);
    const ErrorContext context([&] { return process.path() + '/' + name; });
    return parseChildren(process.read(name, buffer));
}

std::optional<pid_t> findTracedChild(const ProcDir& proc, const ProcPid& process, pid_t tid, pid_t returned,
                                     ProcBuffer& buffer) {
    const TaskStatus parent = readThreadStatus(process, tid, buffer);
    const auto isIt = [&](const TaskStatus& child) {
        // NSpid in /proc/PID/status lists a task's pids, the outer namespaces first; without CONFIG_PID_NS it is
        // absent. A child may have more entries than its parent. The entry at the parent's depth is the pid that the
        // parent sees.
        const std::size_t depth = parent.nsPid.size();
        const pid_t asParentSees = depth == 0 ? child.pid : depth <= child.nsPid.size() ? child.nsPid[depth - 1] : 0;
        return asParentSees == returned && child.tracerPid == parent.tracerPid;
    };
    for (const pid_t number : readChildren(process, tid, buffer)) {
        try {
            if (isIt(readStatus(proc.open(number), buffer)))
                return number;
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;  // ignores ENOENT and ESRCH: the child has ended and was reaped
        }
    }
    return std::nullopt;
}

}  // namespace criu::kernel
