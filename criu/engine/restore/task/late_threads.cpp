// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/late_threads.hpp"

#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>

#include <compel/injection.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/pid_limit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/pid_map.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/program.hpp"

namespace criu::engine {
namespace {

/// Scope in which criu may change the next pid of its own pid namespace. The destructor reverts the change: otherwise,
/// criu's next processes would get pids beside those of the tree, which a later restore needs.
class OwnNextPid {
public:
    OwnNextPid() = default;
    ~OwnNextPid() { revert(); }
    OwnNextPid(const OwnNextPid&) = delete;
    OwnNextPid& operator=(const OwnNextPid&) = delete;

    void set(pid_t next) {
        before_ = kernel::nextPid();
        kernel::setNextPid(-1, next);
    }

    void revert() noexcept {
        try {
            if (before_ > 0)
                kernel::setNextPid(-1, before_);
        } catch (const Error&) {
            return;  // ignored: any next pid is valid
        }
        before_ = 0;
    }

private:
    pid_t before_ = 0;  ///< next pid before set(); 0 if there is nothing to revert
};

/// Creates the threads of one process.
class LateThreads {
public:
    LateThreads(compel::FrozenProcess& process, const model::Task& task, const model::NestedPids& nested,
                const PidMap& pids, const compel::InjectedMemory& area)
        : process_(process),
          nested_(nested),
          area_(area),
          instruction_(compel::syscallInstructionIn(pie::interpreterBlob(), area.code)),
          directory_(kernel::ProcDir().open(process.pid())) {
        for (const model::NestedPidNs* space = nested.of(task.pid); space != nullptr; space = space->parent)
            addLevel(pids.outside(model::NestedPids::firstOf(*space)));
        const model::Task* root = &task;
        while (root->parent != nullptr)
            root = root->parent;
        addLevel(pids.outside(root->pid));
    }

    void create(TreePid thread) {
        const std::vector<pid_t> numbers = nested_.numbersOf(thread);
        // In criu's own pid namespace, another process may take the number first.
        constexpr unsigned kMostTries = 2000;
        constexpr unsigned kTriesWithoutPause = 20;
        for (unsigned tries = 0; tries < kMostTries; ++tries) {
            if (tries >= kTriesWithoutPause)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            compel::Tracee& made = createNext(numbers);
            if (hasNumbers(made, numbers))
                return;
            end(made);
        }
        fail("create thread {}: its tid is taken by another process, process group or session", thread);
    }

private:
    /// Adds the pid namespace of a process. Adds no descriptor for criu's pid namespace.
    void addLevel(HostPid member) {
        const kernel::ProcPid directory = kernel::ProcDir().open(member.value);
        const bool own = kernel::readNamespaceId(directory, kernel::NamespaceKind::Pid) ==
                         kernel::readNamespaceId(kernel::ProcDir().self(), kernel::NamespaceKind::Pid);
        levels_.push_back(own ? UniqueFd() : directory.open("ns/pid", O_RDONLY));
    }

    /// Makes the leader create a thread, which is traced from its birth and stopped. The thread has these tids, unless
    /// another process takes one of them.
    compel::Tracee& createNext(const std::vector<pid_t>& numbers) {
        clone_args args{};
        args.flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PTRACE;
        // Stack for the case that the tracer ends and the thread runs; the kernel then kills the process
        // (PTRACE_O_EXITKILL).
        args.stack = area_.data + sizeof(args);
        args.stack_size = pie::kStackSize;
        process_.memory().writeValue(area_.data, args);
        {
            compel::RemoteSyscalls calls(process_.leader(), instruction_);
            OwnNextPid own;
            for (std::size_t level = 0; level < levels_.size(); ++level)
                if (levels_[level])
                    kernel::setNextPid(levels_[level].get(), numbers[level]);
                else
                    own.set(numbers[level]);
            (void)calls.checkedCall("create a thread", SYS_clone3, {area_.data, sizeof(args)});
            own.revert();
            calls.restore();
        }
        std::set<pid_t> known;
        for (const compel::FrozenThread& thread : process_.threads())
            known.insert(thread.tracee.tid());
        for (const pid_t tid : kernel::readThreads(directory_))
            if (!known.contains(tid))
                return process_.adopt(tid).tracee;
        fail("a new thread has vanished");
    }

    /// Returns true if the thread has these tids, beginning with the one of its pid namespace.
    [[nodiscard]] bool hasNumbers(const compel::Tracee& thread, const std::vector<pid_t>& numbers) const {
        kernel::ProcBuffer buffer;
        const std::vector<pid_t> all = kernel::readThreadStatus(directory_, thread.tid(), buffer).nsPid;
        return all.size() >= numbers.size() && std::equal(numbers.begin(), numbers.end(), all.rbegin());
    }

    /// Ends the last thread of the process, which calls exit(2).
    void end(compel::Tracee& thread) {
        compel::Registers registers = thread.registers();
        registers.setCall(SYS_exit, {0}, instruction_.address);
        thread.setRegisters(registers);
        thread.cont();
        (void)thread.waitEnd();
        process_.threads().pop_back();
    }

    compel::FrozenProcess& process_;
    const model::NestedPids& nested_;
    const compel::InjectedMemory& area_;
    compel::SyscallInstruction instruction_;
    kernel::ProcPid directory_;
    /// Pid namespaces of the process, from its own to the root's; an empty descriptor for criu's.
    std::vector<UniqueFd> levels_;
};

}  // namespace

void createLateThreads(compel::FrozenProcess& process, const model::Task& task, const model::NestedPids& nested,
                       const PidMap& pids, const compel::InjectedMemory& area) {
    LateThreads threads(process, task, nested, pids, area);
    for (std::size_t i = 1; i < task.threads.size(); ++i)
        threads.create(task.threads[i].tid);
}

}  // namespace criu::engine
