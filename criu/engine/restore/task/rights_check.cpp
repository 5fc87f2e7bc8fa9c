// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/rights_check.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/seccomp.hpp"
#include "criu/task/security_label.hpp"
#include "images/core.hpp"

namespace criu::engine {

RightsCheck::RightsCheck(const model::IdMap& ids, const task::LabelRestore& labels)
    : ids_(ids), labels_(labels), capabilities_(kernel::knownCapabilities()) {}

void RightsCheck::requireThreads(const Wanted& wanted, std::size_t first, std::size_t end) const {
    kernel::ProcBuffer buffer;
    for (std::size_t i = first; i < end; ++i) {
        const model::Thread& thread = wanted.task.threads[i];
        const ErrorContext context([&] { return fmt::format("thread {}", thread.tid); });
        const pid_t tid = wanted.threads.at(thread.tid)->tracee.tid();
        const kernel::TaskStatus status = kernel::readThreadStatus(wanted.directory, tid, buffer);
        // Doesn't check the parent of the root: after the end of its parent, the kernel reparents the root to a
        // subreaper or init.
        if (wanted.parent && HostPid(status.ppid) != *wanted.parent)
            fail("is a child of {} instead of {}", status.ppid, *wanted.parent);
        const CredsEntry& creds = *(*thread.core)->thread_core->creds;
        task::requireCredentials(task::Credentials::ofImage(creds), status, ids_, capabilities_);
        task::requireSeccomp(wanted.seccomp, i, status);
        if (labels_.wanted(creds))
            labels_.check(creds, wanted.directory.thread(tid));
    }
}

void RightsCheck::require(const compel::FrozenProcess& process, const PrivilegeDrop::Threads& threads,
                          const model::Task& task, const std::vector<task::SeccompPlan>* seccomp,
                          std::optional<HostPid> parent) const {
    const kernel::ProcPid dir = kernel::ProcDir().open(process.pid());
    const Wanted wanted{dir, threads, task, seccomp, parent};
    // Lets several threads of criu read /proc in parallel if the process has many threads.
    constexpr std::size_t kAtOnce = 256;
    const std::size_t count = task.threads.size();
    if (count <= kAtOnce)
        return requireThreads(wanted, 0, count);
    ThreadPool pool(availableCores());
    for (std::size_t first = 0; first < count; first += kAtOnce)
        pool.submit([&, first] { requireThreads(wanted, first, std::min(first + kAtOnce, count)); });
    pool.wait();
}

}  // namespace criu::engine
