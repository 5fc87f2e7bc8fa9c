// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/fd_holders.hpp"

#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"

namespace criu::kernel {

std::string describeHolder(std::string_view link) {
    const ProcDir proc;
    ProcBuffer buffer;
    for (const int pid : proc.processes()) {
        if (pid == ::getpid())
            continue;
        try {
            const ProcPid process = proc.open(pid);
            for (const int fd : process.numbers("fd"))
                if (process.readLink(fmt::format("fd/{}", fd)) == link)
                    return fmt::format("process {} ({})", pid, readStat(process, buffer).comm);
        } catch (const Error&) {
            // Ignores the failure: the process has ended, criu may not read it, or it has closed the descriptor.
        }
    }
    return {};
}

}  // namespace criu::kernel
