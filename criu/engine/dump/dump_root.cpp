// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/dump_root.hpp"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"

namespace criu::engine {
namespace {

constexpr std::uint32_t kKernelThreadFlag = 0x200000;  // PF_KTHREAD

[[noreturn]] void refuse(const std::string& why, const std::string& hint) {
    Error error(0, why);
    error.addHint(hint);
    throw error;
}

std::optional<kernel::TaskStat> statOf(const kernel::ProcDir& proc, pid_t pid, kernel::ProcBuffer& buffer) {
    try {
        return kernel::readStat(proc.open(pid), buffer);
    } catch (const Error& error) {
        if (error.code() != ENOENT && error.code() != ESRCH)
            throw;
        return std::nullopt;
    }
}

/// Returns "process 7 (sleep)".
std::string shown(const kernel::ProcDir& proc, pid_t pid, kernel::ProcBuffer& buffer) {
    const auto stat = statOf(proc, pid, buffer);
    return stat ? fmt::format("process {} ({})", pid, stat->comm) : fmt::format("process {}", pid);
}

/// Refuses the tid of a thread that isn't a leader. /proc/TID exists also for such a thread, although a listing of
/// /proc shows only processes.
void requireProcess(const kernel::ProcDir& proc, HostPid root, kernel::ProcBuffer& buffer) {
    const pid_t process = kernel::readStatus(proc.open(root.value), buffer).tgid;
    if (process != root.value)
        refuse(fmt::format("{} is a thread of {}", root, shown(proc, process, buffer)),
               fmt::format("a process is dumped with all its threads: -t {}", process));
}

void requireOutsideOfTree(const kernel::ProcDir& proc, HostPid root, kernel::ProcBuffer& buffer) {
    for (pid_t self = ::getpid(); self > 0;) {
        const auto stat = statOf(proc, self, buffer);
        if (!stat)
            return;  // /proc belongs to another pid namespace, so the listing proves nothing
        if (self == root.value) {
            const bool itself = self == ::getpid();
            if (root.value == 1 && !itself)
                refuse(
                    fmt::format("process 1 ({}) is the init of criu's pid namespace, and criu is one of its "
                                "descendants: The criu itself is within dumped tree",
                                stat->comm),
                    "give -t the pid of one program; the init of a container is dumped from outside, by its pid there");
            Error error(0,
                        fmt::format("process {} ({}) is {}: The criu itself is within dumped tree", root,
                                    itself ? "criu" : stat->comm,
                                    itself ? "criu itself" : "an ancestor of criu, such as the shell it is run from"));
            error.addHint("run criu from another terminal or session");
            throw error;
        }
        self = stat->ppid;
    }
}

}  // namespace

void requireDumpableRoot(HostPid root) {
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    const auto stat = statOf(proc, root.value, buffer);
    if (!stat)
        failWith(ESRCH, "process {}", root);
    if ((stat->flags & kKernelThreadFlag) != 0)
        fail("process {} ({}) is a part of the kernel", root, stat->comm);
    requireProcess(proc, root, buffer);
    const bool ended = stat->state == kernel::TaskState::Zombie || stat->state == kernel::TaskState::Dead;
    if (ended && stat->threads == 1)
        refuse(fmt::format("process {} ({}) has ended: it is a zombie, which its parent, {}, hasn't waited for", root,
                           stat->comm, shown(proc, stat->ppid, buffer)),
               fmt::format("there is nothing left of it to dump; it goes when process {} waits for it, or ends",
                           stat->ppid));
    requireOutsideOfTree(proc, root, buffer);
}

}  // namespace criu::engine
