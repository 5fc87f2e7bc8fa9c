// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/tasks.hpp"

#include <fmt/format.h>

#include "criu/kernel/proc/scan.hpp"

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

}  // namespace criu::kernel
