// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/pid_map.hpp"

#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::engine {
namespace {

/// Calls `look`, and ignores the errors that occur if the process ends at the same time.
template <typename Look>
void ignoreEnded(Look&& look) {
    try {
        look();
    } catch (const Error& error) {
        if (error.code() != ENOENT && error.code() != ESRCH)
            throw;
    }
}

}  // namespace

void PidMap::learnLevel(const kernel::ProcDir& proc, kernel::ProcBuffer& buffer) {
    ignoreEnded([&] {
        const auto levels = kernel::readStatus(proc.open(init_.value), buffer).nsPid.size();
        level_ = levels > 0 ? levels - 1 : 0;
    });
}

/// Returns the TreePid: one of the pids in the line NSpid. A process in a nested pid namespace has more pids there.
TreePid PidMap::inside(const kernel::TaskStatus& status) const {
    return TreePid(level_ < status.nsPid.size() ? status.nsPid[level_] : status.pid);
}

void PidMap::add(const kernel::ProcPid& process, HostPid pid, kernel::ProcBuffer& buffer) {
    outside_.insert_or_assign(inside(kernel::readStatus(process, buffer)), pid);
}

void PidMap::refresh(const kernel::ProcDir& proc) {
    if (!init_)
        return;
    kernel::ProcBuffer buffer;
    outside_.clear();
    learnLevel(proc, buffer);
    std::vector<pid_t> next{init_.value};
    while (!next.empty()) {
        const pid_t pid = next.back();
        next.pop_back();
        ignoreEnded([&] {
            const kernel::ProcPid process = proc.open(pid);
            add(process, HostPid(pid), buffer);
            for (const pid_t tid : kernel::readThreads(process)) {
                const std::vector<pid_t> children = kernel::readChildren(process, tid, buffer);
                next.insert(next.end(), children.begin(), children.end());
            }
        });
    }
}

void PidMap::refreshByAll() {
    if (!init_)
        return;
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    outside_.clear();
    learnLevel(proc, buffer);
    ignoreEnded([&] {
        const auto space = kernel::readNamespaceId(proc.open(init_.value), kernel::NamespaceKind::Pid);
        const auto ofCriu = kernel::readNamespaceId(proc.self(), kernel::NamespaceKind::Pid);
        for (const pid_t pid : proc.processes())
            ignoreEnded([&] {
                const kernel::ProcPid process = proc.open(pid);
                const auto own = kernel::readNamespaceId(process, kernel::NamespaceKind::Pid);
                if (own == space || (own != ofCriu && kernel::isWithinPidNamespace(process, space.value_or(0))))
                    add(process, HostPid(pid), buffer);
            });
    });
}

std::optional<HostPid> PidMap::tryOutside(TreePid inside) const {
    if (!init_)
        return HostPid(inside.value);
    const auto found = outside_.find(inside);
    return found != outside_.end() ? std::optional(found->second) : std::nullopt;
}

HostPid PidMap::outside(TreePid inside) const {
    const auto found = tryOutside(inside);
    if (!found)
        fail("process {} is missing in the pid namespace of the tree", inside);
    return *found;
}

TreePid PidMap::insideOf(const kernel::ProcPid& process, HostPid tid) const {
    if (!init_)
        return TreePid(tid.value);
    kernel::ProcBuffer buffer;
    return inside(kernel::readThreadStatus(process, tid.value, buffer));
}

}  // namespace criu::engine
