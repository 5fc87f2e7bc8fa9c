// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/pid_map.hpp"

#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/kernel/status.hpp"
#include "criu/kernel/tasks.hpp"

namespace criu::engine {
namespace {

pid_t innermost(const kernel::TaskStatus& status) {
    return status.nsPid.empty() ? status.pid : status.nsPid.back();
}

/// Processes may end while they are looked at.
template <typename Look>
void unlessEnded(Look&& look) {
    try {
        look();
    } catch (const Error& error) {
        if (error.code() != ENOENT && error.code() != ESRCH)
            throw;
    }
}

}  // namespace

void PidMap::add(const kernel::ProcPid& process, pid_t pid, kernel::ProcBuffer& buffer) {
    outside_.insert_or_assign(innermost(kernel::readStatus(process, buffer)), pid);
}

void PidMap::refresh() {
    if (init_ == 0)
        return;
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    outside_.clear();
    std::vector<pid_t> next{init_};
    while (!next.empty()) {
        const pid_t pid = next.back();
        next.pop_back();
        unlessEnded([&] {
            const kernel::ProcPid process = proc.open(pid);
            add(process, pid, buffer);
            for (const pid_t tid : kernel::readThreads(process)) {
                const std::vector<pid_t> children = kernel::readChildren(process, tid, buffer);
                next.insert(next.end(), children.begin(), children.end());
            }
        });
    }
}

void PidMap::refreshByAll() {
    if (init_ == 0)
        return;
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    outside_.clear();
    unlessEnded([&] {
        const auto space = kernel::readNamespaceId(proc.open(init_), kernel::NamespaceKind::Pid);
        for (const pid_t pid : proc.processes())
            unlessEnded([&] {
                const kernel::ProcPid process = proc.open(pid);
                if (kernel::readNamespaceId(process, kernel::NamespaceKind::Pid) == space)
                    add(process, pid, buffer);
            });
    });
}

std::optional<pid_t> PidMap::tryOutside(pid_t inside) const {
    if (init_ == 0)
        return inside;
    const auto found = outside_.find(inside);
    return found != outside_.end() ? std::optional(found->second) : std::nullopt;
}

pid_t PidMap::outside(pid_t inside) const {
    const auto found = tryOutside(inside);
    if (!found)
        fail("process {} is missing in the pid namespace of the tree", inside);
    return *found;
}

pid_t PidMap::insideOf(const kernel::ProcPid& process, pid_t tid) const {
    if (init_ == 0)
        return tid;
    kernel::ProcBuffer buffer;
    return innermost(kernel::readThreadStatus(process, tid, buffer));
}

}  // namespace criu::engine
