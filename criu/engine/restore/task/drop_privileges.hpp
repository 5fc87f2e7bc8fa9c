// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "criu/engine/fwd.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/limits.hpp"
#include "criu/task/seccomp.hpp"
#include "criu/task/security_label.hpp"

namespace compel {
class Injection;
struct InjectedMemory;
}  // namespace compel

namespace criu::engine {

/// Privilege drop: last steps of a restored process, which give it the dumped privileges. The tracer makes the seized
/// process execute these steps. So criu needn't trust the process when other processes of its user can access it.
/// Before, all descriptors of criu in the process must be closed.
///
/// The interpreter executes the programs, and may be unmapped at the end. The first step unmaps the control page,
/// because the process shares this page with processes of other credentials.
///
/// A process with late threads first enters its user namespace, and creates its threads there.
///
/// Each thread executes one program; the leader is the last. A program sets the following state, in this order:
/// - seccomp filters: installing them needs CAP_SYS_ADMIN (seccomp(2)), which the thread may lose with its credentials.
///   The tracer suspends the filters, so they don't block the other steps (PTRACE_O_SUSPEND_SECCOMP).
/// - user namespace and credentials.
/// - security label: set after the credentials, because a profile may deny the capabilities that setting credentials
///   needs. The file that sets the label is opened before, with criu's privileges.
/// - attributes that the kernel resets when credentials change (prctl(2)): the dumpable flag and the death signal of
///   the thread. The program always clears the dumpable flag.
/// - addresses that the kernel accesses on its own (task::restoreKernelAddresses()).
/// - the limit of processes, because the kernel compares it when the user changes. A process above the limit couldn't
///   call execve(2) any more (flag_nproc_exceeded() in kernel/cred.c).
class PrivilegeDrop {
public:
    using Threads = std::unordered_map<TreePid, compel::FrozenThread*>;

    /// Data that all processes of a restore share.
    struct Common {
        const task::Credentials& credentials;  ///< current credentials of all threads
        task::Dumpable dumpable;
        const task::LabelRestore& labels;
        task::LimitsAtBirth limits;
    };

    /// Functions for a process with late threads (model::Task::lateThreads).
    struct Late {
        /// Creates the threads, and adds them to `threads`. The leader has entered its user namespace.
        std::function<void()> create;
        /// Adds the steps of a thread for which the thread needs no privilege in criu's user namespace. The argument
        /// is the index of the thread.
        std::function<void(std::size_t thread, pie::StepList& steps, pie::RemoteData& data)> compose;
    };

    /// All arguments must outlive this object, except `late`. `seccomp`: null for a process without filters. `users`:
    /// descriptor number in the process for the user namespace that the process enters; -1 if the process stays in its
    /// namespace. `late`: unset unless the process has late threads.
    PrivilegeDrop(compel::FrozenProcess& process, const Threads& threads, const model::Task& task,
                  const std::vector<task::SeccompPlan>* seccomp, const Common& common, int users,
                  std::optional<Late> late);

    ~PrivilegeDrop();
    PrivilegeDrop(const PrivilegeDrop&) = delete;
    PrivilegeDrop& operator=(const PrivilegeDrop&) = delete;

    /// Executes the programs of all threads but the leader, and starts that of the leader, so that the leaders of
    /// several processes execute their programs at the same time. Throws Error with the thread and the step; the caller
    /// must then kill the process.
    void start(const compel::InjectedMemory& restorer);
    /// Waits for the end of the leader's program. Throws Error as start() does.
    void finish();
    /// Returns the interpreter in the process, after start(). The caller unmaps it (compel::Injection::cureAll()), or
    /// keeps it there (compel::Injection::leave()).
    [[nodiscard]] compel::Injection& injection() noexcept;

    /// Returns true if a thread of the process gets credentials that differ from `now`.
    [[nodiscard]] static bool changesCredentials(const model::Task& task, const task::Credentials& now);

private:
    struct Running;

    [[nodiscard]] bool hides(bool idsChange) const;
    void enterUsers(compel::Injection& injection);
    void compose(std::size_t thread, pie::StepList& steps, pie::RemoteData& data) const;
    void runOthers(compel::Injection& injection);
    [[nodiscard]] compel::Tracee& tracee(std::size_t thread) const;

    compel::FrozenProcess& process_;
    const Threads& threads_;
    const model::Task& task_;
    const std::vector<task::SeccompPlan>* seccomp_;
    const Common& common_;
    int users_;
    std::optional<Late> late_;
    std::optional<task::Credentials> entered_;  ///< credentials after enterUsers()
    bool changes_;
    std::unique_ptr<Running> running_;  ///< interpreter and program of the leader; null before start()
};

}  // namespace criu::engine
