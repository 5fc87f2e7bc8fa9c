// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/thread_state.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/sched.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/task/compat.hpp"
#include "criu/task/registers.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"

namespace criu::task {

namespace {

/// Result of the 32-bit get_robust_list(2).
struct CompatRobustList {
    std::uint32_t head = 0;
    std::uint32_t length = 0;
};

}  // namespace

ThreadStateQuery::ThreadStateQuery(bool compat, pie::StepList& steps, pie::RemoteData& data)
    : clearTidAt_(data.reserve(sizeof(std::uint64_t))),
      deathSignalAt_(data.reserve(sizeof(std::uint64_t))),
      timerSlackAt_(data.reserve(sizeof(std::uint64_t))) {
    // A kernel without CONFIG_CHECKPOINT_RESTORE refuses this call, and the dump fails. Such a kernel couldn't restore
    // the task.
    steps.call(pie::Subject::ClearTid, 0, SYS_prctl, PR_GET_TID_ADDRESS, clearTidAt_, 0, 0, 0);
    steps.call(pie::Subject::ParentDeathSignal, 0, SYS_prctl, PR_GET_PDEATHSIG, deathSignalAt_, 0, 0, 0);
    steps.call(pie::Subject::Query, 0, SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, timerSlackAt_);
    if (!compat)
        return;
    robustListAt_ = data.reserve(sizeof(CompatRobustList));
    steps.compatCall(pie::Subject::RobustList, 0, numberOf(CompatCall::GetRobustList), 0,
                     robustListAt_ + offsetof(CompatRobustList, head),
                     robustListAt_ + offsetof(CompatRobustList, length));
}

void ThreadStateQuery::store(pie::RemoteData& answers, HostPid tid, const std::string& name,
                             const std::optional<RseqRegistration>& rseq, CoreEntry& core, Arena& arena) const {
    ThreadCoreEntry& thread = *core.thread_core;
    setClearTidAddress(core, answers.local<std::uint64_t>(clearTidAt_));
    thread.comm = arena.string(name);
    thread.has_timer_slack = 1;
    thread.timer_slack = answers.local<std::uint64_t>(timerSlackAt_);
    const auto deathSignal = answers.local<std::uint32_t>(deathSignalAt_);
    if (deathSignal != 0) {
        thread.has_pdeath_sig = 1;
        thread.pdeath_sig = deathSignal;
    }

    if (robustListAt_ != 0) {
        const auto& list = answers.local<CompatRobustList>(robustListAt_);
        thread.futex_rla = list.head;
        thread.futex_rla_len = list.length;
    } else {
        const kernel::RobustList robust = kernel::robustList(tid.value);
        thread.futex_rla = robust.head;
        thread.futex_rla_len = static_cast<std::uint32_t>(robust.length);
    }

    if (rseq && rseq->area != 0) {
        auto& entry = *arena.make<RseqEntry>();
        thread.rseq_entry = &entry;
        entry.rseq_abi_pointer = rseq->area;
        entry.rseq_abi_size = rseq->size;
        entry.signature = rseq->signature;
        if (rseq->criticalSection != 0) {
            entry.has_rseq_cs_pointer = 1;
            entry.rseq_cs_pointer = rseq->criticalSection;
        }
    }
}

bool hasEndedLeader(const model::Task& task) {
    const CoreEntry& core = task.core();
    if (hasRegisters(core))
        return false;
    if (core.mtype != coreMachine())
        fail("the core image of process {} is of another architecture (mtype {})", task.pid,
             static_cast<int>(core.mtype));
    if (task.threads.size() == 1)
        fail(
            "the core image of process {} has no registers, as if its main thread had ended, but it has no other "
            "thread",
            task.pid);
    if (std::any_of(task.threads.begin() + 1, task.threads.end(),
                    [](const model::Thread& thread) { return isCompat(**thread.core); }))
        fail("the main thread of the 32-bit process {} has ended, which can't be restored", task.pid);
    return true;
}

void restoreThreadState(const CoreEntry& core, pie::StepList& steps, pie::RemoteData& data) {
    const ThreadCoreEntry* const thread = core.thread_core;
    if (thread == nullptr)
        return;
    if (thread->has_timer_slack != 0 && thread->timer_slack != 0)
        steps.call(pie::Subject::Other, thread->timer_slack, SYS_prctl, PR_SET_TIMERSLACK, thread->timer_slack, 0, 0,
                   0);
    const char* const name = thread->comm != nullptr ? thread->comm : (core.tc != nullptr ? core.tc->comm : nullptr);
    if (name != nullptr)
        steps.call(pie::Subject::Name, 0, SYS_prctl, PR_SET_NAME, data.putString(name), 0, 0, 0);
}

void restoreKernelAddresses(const CoreEntry& core, pie::StepList& steps) {
    const ThreadCoreEntry* const thread = core.thread_core;
    steps.call(pie::Subject::ClearTid, clearTidAddress(core), SYS_set_tid_address, clearTidAddress(core)).check =
        pie::ResultCheck::Any;  // the call returns the caller's tid
    if (thread == nullptr)
        return;
    if (thread->futex_rla_len != 0 && isCompat(core))
        steps.compatCall(pie::Subject::RobustList, thread->futex_rla, numberOf(CompatCall::SetRobustList),
                         thread->futex_rla, thread->futex_rla_len);
    else if (thread->futex_rla_len != 0)
        steps.call(pie::Subject::RobustList, thread->futex_rla, SYS_set_robust_list, thread->futex_rla,
                   thread->futex_rla_len);
    if (thread->rseq_entry != nullptr && thread->rseq_entry->rseq_abi_pointer != 0)
        steps.call(pie::Subject::Rseq, thread->rseq_entry->rseq_abi_pointer, SYS_rseq,
                   thread->rseq_entry->rseq_abi_pointer, thread->rseq_entry->rseq_abi_size, 0,
                   thread->rseq_entry->signature);
}

std::uint64_t criticalSectionPointer(const ThreadCoreEntry& thread) noexcept {
    constexpr std::uint64_t kPointer = 8;  // offset of rseq_cs in struct rseq of <linux/rseq.h>
    return thread.rseq_entry != nullptr && thread.rseq_entry->rseq_abi_pointer != 0
               ? thread.rseq_entry->rseq_abi_pointer + kPointer
               : 0;
}

void requireOwnRseq(const ThreadCoreEntry& thread, const MmEntry& mm) {
    if (criticalSectionPointer(thread) == 0)
        return;
    const std::uint64_t start = thread.rseq_entry->rseq_abi_pointer;
    const std::uint64_t size = thread.rseq_entry->rseq_abi_size;
    const auto holds = [&](const VmaEntry* vma) {
        return vma->start <= start && start < vma->end && size <= vma->end - start && (vma->flags & MAP_PRIVATE) != 0 &&
               (vma->prot & PROT_WRITE) != 0;
    };
    // If the binary search finds no mapping, checks all mappings: criu sorts them by address, but other programs may
    // write unsorted images.
    const auto vmas = list(mm.vmas, mm.n_vmas);
    const auto behind = std::upper_bound(vmas.begin(), vmas.end(), start,
                                         [](std::uint64_t at, const VmaEntry* vma) { return at < vma->start; });
    if ((behind != vmas.begin() && holds(*std::prev(behind))) || std::any_of(vmas.begin(), vmas.end(), holds))
        return;
    fail("the area of restartable sequences at {:#x} isn't in writable private memory of the process", start);
}

void restoreDeathSignal(const ThreadCoreEntry& core, pie::StepList& steps) {
    // Also sets the signal 0, because during the restore the thread has a death signal for the end of criu.
    steps.call(pie::Subject::ParentDeathSignal, core.pdeath_sig, SYS_prctl, PR_SET_PDEATHSIG, core.pdeath_sig, 0, 0, 0);
}

}  // namespace criu::task
