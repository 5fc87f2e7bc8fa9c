// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/drop_privileges.hpp"

#include <compel/injection.hpp>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/engine/restore/task/restorer_area.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/step_results.hpp"
#include "criu/task/thread_state.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

/// Adds steps that unmap the memory between the commit word and the interpreter's data: the control page, and the
/// parking room of the vDSO.
void addControlUnmapping(const compel::InjectedMemory& restorer, pie::StepList& steps) {
    const std::uint64_t control = commitWordAt(restorer) + machinePageSize();
    steps.call(pie::Subject::UnmapOld, control, SYS_munmap, control, restorer.data - control);
}

/// Limit of the total size in bytes of the programs that threads execute at the same time.
constexpr std::size_t kBytesAtOnce = std::size_t{4} << 20;

}  // namespace

struct PrivilegeDrop::Running {
    Running(compel::Tracee& leader, const compel::InjectedMemory& restorer)
        : injection(leader, pie::interpreterBlob(), restorer), data(injection.data()) {}

    compel::Injection injection;
    pie::RemoteData data;
    RemoteProgram program{};
    std::vector<compel::BlobRun> runs;  // last member: destroyed first, because a run needs the interpreter
};

PrivilegeDrop::~PrivilegeDrop() = default;

PrivilegeDrop::PrivilegeDrop(compel::FrozenProcess& process, const Threads& threads, const model::Task& task,
                             const std::vector<task::SeccompPlan>* seccomp, const Common& common, int users,
                             std::optional<Late> late)
    : process_(process),
      threads_(threads),
      task_(task),
      seccomp_(seccomp),
      common_(common),
      users_(users),
      late_(std::move(late)),
      changes_(users >= 0 || changesCredentials(task, common.credentials)) {}

bool PrivilegeDrop::changesCredentials(const model::Task& task, const task::Credentials& now) {
    return std::any_of(task.threads.begin(), task.threads.end(), [&now](const model::Thread& thread) {
        return task::Credentials::ofImage(*(*thread.core)->thread_core->creds) != now;
    });
}

compel::Tracee& PrivilegeDrop::tracee(std::size_t thread) const {
    const auto found = threads_.find(task_.threads[thread].tid);
    if (found == threads_.end())
        fail("thread {} wasn't made", task_.threads[thread].tid);
    return found->second->tracee;
}

/// Returns true if the program must clear the dumpable flag. Without CAP_SYS_PTRACE, the kernel wouldn't let criu
/// itself open the memory of an undumpable process. Such a criu has only processes of its own user, which may read
/// criu's images, too.
bool PrivilegeDrop::hides(bool idsChange) const {
    return common_.dumpable.needsClearing(**task_.mm, changes_, idsChange) && kernel::hasCapability(CAP_SYS_PTRACE);
}

/// Makes the leader enter its user namespace, and keep all capabilities there.
void PrivilegeDrop::enterUsers(compel::Injection& injection) {
    pie::StepList steps;
    pie::RemoteData data(injection.data());
    const bool hide = hides(true);
    if (hide)
        task::clearDumpable(steps);
    const task::Credentials wanted = task::Credentials::ofImage(*task_.core().thread_core->creds);
    entered_ = task::enterUserNamespace(common_.credentials, wanted, users_, steps, data);
    if (hide)
        task::clearDumpable(steps);
    runProgram(injection, steps, data, process_.leader());
}

void PrivilegeDrop::compose(std::size_t thread, pie::StepList& steps, pie::RemoteData& data) const {
    const CoreEntry& core = **task_.threads[thread].core;
    const ThreadCoreEntry& own = *core.thread_core;
    if (late_)
        late_->compose(thread, steps, data);
    if (seccomp_ != nullptr)
        task::restoreSeccomp((*seccomp_)[thread], steps, data);
    const task::Credentials wanted = task::Credentials::ofImage(*own.creds);
    const bool idsChange = users_ >= 0 || wanted.uid.effective != common_.credentials.uid.effective ||
                           wanted.gid.effective != common_.credentials.gid.effective;
    const bool hide = hides(idsChange);
    if (hide)
        task::clearDumpable(steps);
    task::LabelRestore::Steps label(common_.labels, *own.creds);
    label.open(steps, data);
    const task::Credentials now = entered_ ? *entered_
                                  : users_ >= 0
                                      ? task::enterUserNamespace(common_.credentials, wanted, users_, steps, data)
                                      : common_.credentials;
    task::restoreCredentials(now, wanted, steps, data);
    label.write(steps, data);
    if (hide && idsChange)
        task::clearDumpable(steps);
    if (!changes_ && common_.dumpable.isAsWanted(**task_.mm))
        task::setDumpable(steps);
    task::restoreDeathSignal(own, steps);
    task::restoreKernelAddresses(core, steps);
    if (const std::uint64_t pointer = task::criticalSectionPointer(own); pointer != 0)
        process_.memory().writeValue(pointer, std::uint64_t{0});
    if (thread == 0 && late_)
        task::restoreLimit(*task_.core().tc, common_.limits, RLIMIT_SIGPENDING, steps, data);
    if (thread == 0)
        task::restoreLimit(*task_.core().tc, common_.limits, RLIMIT_NPROC, steps, data);
}

void PrivilegeDrop::runOthers(compel::Injection& injection) {
    // Leaves room for a thread that exceeds the limit.
    const std::size_t limit = std::min<std::size_t>(kBytesAtOnce, injection.dataSize() / 2);
    for (std::size_t next = 1; next < task_.threads.size();) {
        pie::RemoteData data(injection.data());
        std::vector<RemoteProgram> programs;
        do {
            pie::StepList steps;
            compose(next, steps, data);
            programs.push_back(placeProgram(steps, data, &tracee(next)));
            ++next;
        } while (next < task_.threads.size() && programs.size() < kThreadsAtOnce && data.bytes().size() < limit);
        runPrograms(injection, data, programs);
    }
}

void PrivilegeDrop::start(const compel::InjectedMemory& restorer) {
    running_ = std::make_unique<Running>(process_.leader(), restorer);
    compel::Injection& injection = running_->injection;
    pie::StepList steps;
    pie::RemoteData& data = running_->data;
    addControlUnmapping(restorer, steps);
    if (late_) {
        runProgram(injection, steps, data, process_.leader());
        enterUsers(injection);
        late_->create();
        steps = pie::StepList();
        data = pie::RemoteData(injection.data());
    }
    if (seccomp_ != nullptr)
        task::restoreCommonSeccomp(seccomp_->front(), steps, data);
    if (task_.threads.size() > 1) {
        const RemoteProgram program = placeProgram(steps, data, &process_.leader());
        runPrograms(injection, data, {&program, 1});
        runOthers(injection);
        steps = pie::StepList();
        data = pie::RemoteData(injection.data());
    }
    compose(0, steps, data);
    running_->program = placeProgram(steps, data, &process_.leader());
    running_->runs = startPrograms(injection, data, {&running_->program, 1});
}

void PrivilegeDrop::finish() {
    finishPrograms(running_->injection, running_->data, {&running_->program, 1}, running_->runs);
    running_->runs.clear();
}

compel::Injection& PrivilegeDrop::injection() noexcept {
    return running_->injection;
}

}  // namespace criu::engine
