// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/rights_check.hpp"

#include "criu/base/error.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/status.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/seccomp.hpp"
#include "criu/task/security_label.hpp"
#include "images/core.hpp"

namespace criu::engine {

RightsCheck::RightsCheck(const model::IdMap& ids)
    : ids_(ids), capabilities_(kernel::knownCapabilities()), label_(task::securityLabel(kernel::ProcDir().self())) {}

void RightsCheck::require(const compel::FrozenProcess& process, const LastSteps::Threads& threads,
                          const model::Task& task, const std::vector<task::SeccompPlan>* seccomp,
                          std::optional<HostPid> parent) const {
    const kernel::ProcPid dir = kernel::ProcDir().open(process.pid());
    kernel::ProcBuffer buffer;
    for (std::size_t i = 0; i < task.threads.size(); ++i) {
        const model::Thread& thread = task.threads[i];
        const ErrorContext context([&] { return fmt::format("thread {}", thread.tid); });
        const pid_t tid = threads.at(thread.tid)->tracee.tid();
        const kernel::TaskStatus status = kernel::readThreadStatus(dir, tid, buffer);
        // Whom the kernel has given an orphan to depends on who reaps at that moment.
        if (parent && HostPid(status.ppid) != *parent)
            fail("is a child of {} instead of {}", status.ppid, *parent);
        const CredsEntry& creds = *(*thread.core)->thread_core->creds;
        task::requireCredentials(task::Credentials::ofImage(creds), status, ids_, capabilities_);
        task::requireSeccomp(seccomp, i, status);
        if (label_)
            task::requireLabel(creds, task::securityLabel(dir.thread(tid)));
    }
}

}  // namespace criu::engine
