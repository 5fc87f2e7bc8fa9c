// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/injection.hpp>
#include <compel/process.hpp>

#include <unordered_map>
#include <vector>

#include "criu/model/process_tree.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/seccomp.hpp"
#include "criu/task/security_label.hpp"

namespace criu::engine {

/// The last steps of a process that is restored: those after which it has no more rights than in the image. They are
/// carried out from outside, while it is seized, so that criu needn't believe anything that the process says once
/// others can touch it: others of its user may as soon as it has its credentials and is dumpable. Of criu's descriptors
/// none may be open by then in any process that has the same table.
///
/// The program is executed by what the restorer has left in the process (`restorer`), nothing of which is there any
/// more in the end. First of all it takes away the control page, which processes of other rights have as well.
///
/// Each thread does this in one run, the leader last, in this order:
/// - seccomp filters: installing one takes rights (CAP_SYS_ADMIN, seccomp(2)) that the thread has only before its
///   credentials. They don't stand in the way of the other steps: the tracer suspends them (PTRACE_O_SUSPEND_SECCOMP).
/// - the user namespace, and credentials.
/// - the security label: a profile may deny the capabilities that credentials take. The file that it is written to is
///   opened before, with criu's rights.
/// - what the kernel resets when credentials change (prctl(2)): the dumpable flag, which goes off here whatever it is
/// to
///   be in the end, and the thread's death signal.
/// - addresses that the kernel uses on its own (task::restoreKernelAddresses()).
class PrivilegeDrop {
public:
    using Threads = std::unordered_map<TreePid, compel::FrozenThread*>;

    /// What all processes of a restore have in common.
    struct Common {
        const task::Credentials& credentials;  ///< what threads have now
        task::Dumpable dumpable;
        const task::LabelRestore& labels;
    };

    /// All must outlive this. `seccomp`: null for a process without. `users`: the descriptor that the process has of
    /// the user namespace it is to enter; -1: it stays where it is.
    PrivilegeDrop(compel::FrozenProcess& process, const Threads& threads, const model::Task& task,
                  const std::vector<task::SeccompPlan>* seccomp, const Common& common, int users);

    /// Throws Error naming thread and step. The process must not run on then.
    void run(const compel::InjectedMemory& restorer);

    /// Whether a thread of the process gets other credentials than criu has.
    [[nodiscard]] static bool changesCredentials(const model::Task& task, const task::Credentials& now);

private:
    void compose(std::size_t thread, pie::StepList& steps, pie::RemoteData& data) const;
    void runOthers(compel::Injection& injection);
    [[nodiscard]] compel::Tracee& tracee(std::size_t thread) const;

    compel::FrozenProcess& process_;
    const Threads& threads_;
    const model::Task& task_;
    const std::vector<task::SeccompPlan>* seccomp_;
    const Common& common_;
    int users_;
    bool changes_;
};

}  // namespace criu::engine
