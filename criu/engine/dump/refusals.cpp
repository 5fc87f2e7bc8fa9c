// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/refusals.hpp"

#include <unistd.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump/tasks/nested_pids.hpp"
#include "criu/engine/dump/tasks/unshared_threads.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/sharing.hpp"
#include "criu/task/compat.hpp"
#include "criu/task/registers.hpp"
#include "criu/task/security_label.hpp"

namespace criu::engine {
namespace {

using kernel::KcmpType;

void refuseForeignSession(const FrozenTask& root, const model::Options& options) {
    const bool isRefusedLater = !root.session() && root.alive();  // requireSession() has another remedy
    if (HostPid(root.stat.session) == root.pid() || options.shellJob || isRefusedLater)
        return;
    Error error(0, fmt::format("process {} ({}) doesn't lead its session: the leader is {}", root.pid(),
                               root.status.name, root.stat.session));
    error.addHint("start it with setsid, or dump with --shell-job");
    throw error;
}

/// Refuses threads under seccomp if the kernel doesn't let criu suspend filters: a filter may kill a thread in which
/// criu makes a system call.
void refuseSeccomp(const FrozenTask& task) {
    kernel::ProcBuffer buffer;
    for (const compel::FrozenThread& thread : task.process->threads()) {
        const auto mode = kernel::readThreadStatus(task.dir, thread.tracee.tid(), buffer).seccomp;
        if (mode.value_or(kernel::SeccompMode::Disabled) == kernel::SeccompMode::Disabled)
            continue;
        Error error(EPERM, fmt::format("thread {} of process {} runs under seccomp", thread.tracee.tid(), task.pid()));
        error.addHint("criu needs CAP_SYS_ADMIN for it, and may not run under seccomp itself");
        throw error;
    }
}

/// Refuses threads whose label a restore couldn't set. `own`: label of criu.
void refuseLabels(const FrozenTask& task, const std::string& own, task::LabelModule module) {
    const auto& threads = task.process->threads();
    for (const compel::FrozenThread& thread : threads)
        if (const auto label = task::securityLabel(task.dir.thread(thread.tracee.tid())))
            task::refuseLabel(*label, own, module, threads.size() == 1);
}

/// Refuses a process whose main thread has ended, if the images can't describe it.
void refuseEndedLeader(const FrozenTask& task, const model::Options& options) {
    if (!task.leaderEnded())
        return;
    if (options.compat)
        fail("{}: its main thread has ended while others live on, which CRIU 4.2 can't restore", task.describe());
    if (task.compat)
        fail("{}: it is a 32-bit process whose main thread has ended while others live on, which can't be dumped",
             task.describe());
}

/// Type of kernel object that the tree must not share with outside processes.
struct Shared {
    const kernel::Sharing& sharing;
    const char* what;
};

/// Refuses a tree that shares objects with outside processes. An outside process isn't frozen, so it could change
/// memory and code that criu uses in the tree. A restore would give the tree separate objects. Checks all processes
/// that criu can find and compare by kcmp(2).
void refuseSharedOutside(FrozenTree& tree, std::span<const Shared> shared) {
    const auto own = static_cast<int>(::getpid());
    for (const int number : kernel::ProcDir().processes()) {
        const HostPid other(number);
        if (number == own || tree.find(other) != nullptr)
            continue;
        try {
            for (const auto& [sharing, what] : shared)
                if (const auto member = sharing.partnerOf(other))
                    fail("process {} shares its {} with process {}, which isn't in the tree", *member, what, other);
        } catch (const Error& error) {
            if (error.code() != ESRCH && error.code() != EPERM)
                throw;  // the process has ended, or criu may not compare it
        }
    }
}

/// Refuses a tree in which two processes share an object. `what`: name of the object in the message.
void refuseShared(const kernel::Sharing& sharing, const char* what) {
    if (const auto pair = sharing.anyPair())
        fail("processes {} and {} share {}, which can't be dumped", pair->first, pair->second, what);
}

/// Refuses a process whose session leader is outside of the tree's pid namespace.
void requireSession(const FrozenTask& task) {
    if (task.session())
        return;
    Error error(0, fmt::format("{} is in session {}, which isn't in the pid namespace of the tree", task.describe(),
                               task.stat.session));
    error.addHint(
        "let the first process of the namespace call setsid, "
        "e.g. unshare --pid --fork --mount-proc setsid PROGRAM");
    throw error;
}

/// Refuses processes that share objects with each other or with outside processes, where a restore couldn't create the
/// shared object.
void refuseSharing(FrozenTree& tree, const model::Options& options, Log& log) {
    // Signal handlers need no check: CLONE_SIGHAND requires CLONE_VM (copy_process(), kernel/fork.c), and execve(2)
    // unshares both (begin_new_exec(), fs/exec.c).
    const kernel::Sharing memory(tree.actors(), KcmpType::Vm);
    const kernel::Sharing directories(findUnsharedThreads(tree, options, log), KcmpType::Fs);
    const std::array shared{Shared{memory, "memory"}, Shared{directories, "working directory (CLONE_FS)"},
                            Shared{tree.sharedTables(), "table of descriptors (CLONE_FILES)"}};
    refuseShared(memory, "their memory (CLONE_VM)");
    refuseShared(directories, "their working directory (CLONE_FS)");
    refuseSharedOutside(tree, shared);
}

}  // namespace

bool refuseUnsupported(FrozenTree& tree, const model::Options& options, task::LabelModule module, Log& log,
                       Refusals& refusals) {
    bool mayInject = true;
    bool hasSessions = true;
    refusals.attempt([&] { refuseForeignSession(*tree.tasks().front(), options); });
    const std::optional<std::string> ownLabel = task::securityLabel(kernel::ProcDir().self());
    for (const auto& task : tree.tasks()) {
        if (!task->alive())
            continue;
        hasSessions = refusals.attempt([&] { requireSession(*task); }) && hasSessions;
        if (ownLabel) {
            const ErrorContext context([&] { return fmt::format("process {} ({})", task->pid(), task->status.name); });
            refusals.attempt([&] { refuseLabels(*task, *ownLabel, module); });
            task->labels = module;
        }
        if (!tree.seccompSuspended())
            mayInject = refusals.attempt([&] { refuseSeccomp(*task); }) && mayInject;
        mayInject = refusals.attempt([&] {
            task->compat = task::isCompat(*task->process, task->dir);
            for (const compel::FrozenThread& thread : task->process->threads())
                task::refuseState(thread.tracee);
            refuseEndedLeader(*task, options);
        }) && mayInject;
    }
    if (hasSessions)  // otherwise requireBirths() reports the same obstacle
        refusals.attempt([&] { requireBirths(tree); });
    return refusals.attempt([&] { refuseSharing(tree, options, log); }) && mayInject;
}

void refuseNestedDevices(FrozenTree& tree, const device::DumpDevices& devices) {
    // Device drivers identify a process by its pid in the innermost pid namespace, but criu uses its pid in another pid
    // namespace.
    if (tree.pids().nested().empty())
        return;
    std::string_view name = devices.used().empty() ? std::string_view() : devices.used().front();
    for (auto task = tree.tasks().begin(); name.empty() && task != tree.tasks().end(); ++task)
        name = devices.whoCheckpoints((**task).pid());
    if (!name.empty())
        fail("a tree that has pid namespaces below its own and uses devices ({}) can't be dumped yet", name);
}

}  // namespace criu::engine
