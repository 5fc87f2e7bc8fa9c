// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_refusals.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/nested_pids.hpp"
#include "criu/kernel/kcmp.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/task/compat.hpp"
#include "criu/task/security_label.hpp"

namespace criu::engine {
namespace {

void refuseForeignSession(const FrozenTask& root, const model::Options& options) {
    if (HostPid(root.stat.session) == root.pid() || options.shellJob)
        return;
    Error error(0, fmt::format("process {} ({}) doesn't lead its session: the leader is {}", root.pid(),
                               root.status.name, root.stat.session));
    if (root.session())
        error.addHint("start it with setsid, or dump with --shell-job");
    else
        error.addHint(
            "which isn't in the pid namespace of the tree: let its first process call setsid, "
            "e.g. unshare --pid --fork --mount-proc setsid PROGRAM");
    throw error;
}

/// A filter might forbid what criu has to do in a thread, and kill it for that.
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

/// Each thread may have a label of its own.
void refuseLabels(const FrozenTask& task, const std::string& own, task::LabelModule module) {
    const auto& threads = task.process->threads();
    for (const compel::FrozenThread& thread : threads)
        if (const auto label = task::securityLabel(task.dir.thread(thread.tracee.tid())))
            task::refuseLabel(*label, own, module, threads.size() == 1);
}

/// In the kernel's order, in which those that share are neighbours.
std::vector<HostPid> sortedBy(kernel::KcmpType type, FrozenTree& tree) {
    std::vector<HostPid> pids;
    for (const auto& task : tree.tasks())
        if (task->alive())
            pids.push_back(task->pid());
    std::sort(pids.begin(), pids.end(), [&](HostPid a, HostPid b) {
        return kernel::kcmp(a.value, b.value, type) == std::partial_ordering::less;
    });
    return pids;
}

/// A process outside of the tree that shares the memory of one in it isn't frozen: what is dumped would change
/// meanwhile, and so would the code that criu runs there, for which seccomp filters are suspended. It is looked for
/// among all processes that criu sees and may compare; of the others none has been given the memory by a process of the
/// tree.
void refuseSharedOutside(FrozenTree& tree) {
    const std::vector<HostPid> members = sortedBy(kernel::KcmpType::Vm, tree);
    std::unordered_set<HostPid> known(members.begin(), members.end());
    known.emplace(::getpid());
    for (const int number : kernel::ProcDir().processes()) {
        const HostPid other(number);
        if (known.contains(other))
            continue;
        std::size_t first = 0;
        for (std::size_t last = members.size(); first < last;) {
            const std::size_t middle = first + (last - first) / 2;
            std::partial_ordering order = std::partial_ordering::unordered;
            try {
                order = kernel::kcmp(members[middle].value, other.value, kernel::KcmpType::Vm);
            } catch (const Error& error) {
                if (error.code() != ESRCH && error.code() != EPERM)
                    throw;
                break;  // it has ended, or is none of criu's business
            }
            if (order == std::partial_ordering::equivalent)
                fail("process {} shares its memory with process {}, which isn't in the tree", members[middle], other);
            if (order == std::partial_ordering::less)
                first = middle + 1;
            else
                last = middle;
        }
    }
}

/// Processes may share descriptors but nothing else.
void refuseShared(FrozenTree& tree, kernel::KcmpType type, const char* what) {
    const std::vector<HostPid> pids = sortedBy(type, tree);
    const auto shared = std::adjacent_find(pids.begin(), pids.end(), [&](HostPid a, HostPid b) {
        return kernel::kcmp(a.value, b.value, type) == std::partial_ordering::equivalent;
    });
    if (shared != pids.end())
        fail("processes {} and {} share {}, which can't be dumped", std::min(shared[0], shared[1]),
             std::max(shared[0], shared[1]), what);
}

}  // namespace

void refuseUnsupported(FrozenTree& tree, const model::Options& options, task::LabelModule module) {
    refuseForeignSession(*tree.tasks().front(), options);
    const std::optional<std::string> ownLabel = task::securityLabel(kernel::ProcDir().self());
    for (const auto& task : tree.tasks()) {
        if (!task->alive())
            continue;
        if (!task->session()) {
            Error error(0, fmt::format("{} is in session {}, which isn't in the pid namespace of the tree",
                                       task->describe(), task->stat.session));
            error.addHint(
                "let the first process of the namespace call setsid, "
                "e.g. unshare --pid --fork --mount-proc setsid PROGRAM");
            throw error;
        }
        if (ownLabel) {
            const ErrorContext context([&] { return fmt::format("process {} ({})", task->pid(), task->status.name); });
            refuseLabels(*task, *ownLabel, module);
            task->labels = module;
        }
        if (!tree.seccompSuspended())
            refuseSeccomp(*task);
        task->compat = task::isCompat(*task->process, task->dir);
    }
    requireNestedBirths(tree);
    refuseShared(tree, kernel::KcmpType::Vm, "their memory (CLONE_VM)");
    refuseSharedOutside(tree);
    refuseShared(tree, kernel::KcmpType::Fs, "their working directory (CLONE_FS)");
    refuseShared(tree, kernel::KcmpType::Sighand, "their signal handlers (CLONE_SIGHAND)");
}

void refuseNestedDevices(FrozenTree& tree, const device::DumpDevices& devices) {
    // Drivers know processes by the innermost of their numbers.
    if (tree.pids().nested().empty())
        return;
    std::string_view name = devices.used().empty() ? std::string_view() : devices.used().front();
    for (auto task = tree.tasks().begin(); name.empty() && task != tree.tasks().end(); ++task)
        name = devices.whoCheckpoints((**task).pid());
    if (!name.empty())
        fail("a tree that has pid namespaces below its own and uses devices ({}) can't be dumped yet", name);
}

}  // namespace criu::engine
