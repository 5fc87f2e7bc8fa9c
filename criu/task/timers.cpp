// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/timers.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "images/core.hpp"

namespace criu::task {
namespace {

constexpr int kIntervalTimers = 3;  // ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF in this order

// Constants of the kernel's uapi (Linux 6.15), which older headers lack.
constexpr int kTimerCreateRestoreIds = 77;
constexpr unsigned long kRestoreIdsOff = 0;
constexpr unsigned long kRestoreIdsOn = 1;

struct KernelSigevent {
    std::uint64_t value = 0;
    std::int32_t signo = 0;
    std::int32_t notify = 0;
    std::int32_t tid = 0;
    std::int32_t padding[11] = {};
};
static_assert(sizeof(KernelSigevent) == 64);

ItimerEntry* storeInterval(itimerval value, Arena& arena) {
    // A periodic timer has no remaining time only while its last signal is pending; the kernel starts it again when it
    // delivers the signal. So criu stores the interval as the remaining time.
    if (value.it_value.tv_sec == 0 && value.it_value.tv_usec == 0)
        value.it_value = value.it_interval;
    auto* const entry = arena.make<ItimerEntry>();
    entry->isec = static_cast<std::uint64_t>(value.it_interval.tv_sec);
    entry->iusec = static_cast<std::uint64_t>(value.it_interval.tv_usec);
    entry->vsec = static_cast<std::uint64_t>(value.it_value.tv_sec);
    entry->vusec = static_cast<std::uint64_t>(value.it_value.tv_usec);
    return entry;
}

void restoreInterval(int which, const ItimerEntry& entry, pie::StepList& steps, pie::RemoteData& data) {
    if (entry.vsec == 0 && entry.vusec == 0 && entry.isec == 0 && entry.iusec == 0)
        return;
    // A periodic timer whose last signal was pending, see storeInterval().
    const bool expired = entry.vsec == 0 && entry.vusec == 0;
    itimerval value{};
    value.it_interval.tv_sec = static_cast<time_t>(entry.isec);
    value.it_interval.tv_usec = static_cast<suseconds_t>(entry.iusec);
    value.it_value.tv_sec = static_cast<time_t>(entry.vsec);
    value.it_value.tv_usec = static_cast<suseconds_t>(entry.vusec);
    if (expired)
        value.it_value = value.it_interval;
    steps.call(pie::Subject::IntervalTimer, static_cast<std::uint64_t>(which), SYS_setitimer, which, data.put(value),
               0);
}

// A clock of processor time is a negative number. It consists of the inverted tid or pid, one bit for threads, and two
// bits for the kind of time (include/linux/posix-timers_types.h).
constexpr std::uint32_t kOfThread = 4;
constexpr std::uint32_t kTimeKinds = 3;
constexpr std::uint32_t kAllTime = 2;  // CPUCLOCK_SCHED
constexpr unsigned kNumberShift = 3;

std::uint32_t clockOfThread(pid_t thread, std::uint32_t kind) {
    return ~static_cast<std::uint32_t>(thread) << kNumberShift | kOfThread | kind;
}

/// Returns the kind of time if a clock measures the processor time of the thread that creates the timer; nullopt for
/// other clocks.
std::optional<std::uint32_t> kindOfOwnTime(std::uint32_t clock) {
    if (clock == CLOCK_THREAD_CPUTIME_ID)
        return kAllTime;
    const std::uint32_t kind = clock & kTimeKinds;
    return clock == clockOfThread(0, kind) ? std::optional(kind) : std::nullopt;
}

/// Returns the clock with which the main thread creates a timer. For a timer of a thread's own processor time, the
/// kernel doesn't show which thread created the timer. If the timer signals another thread, criu assumes that it
/// measures the time of that thread.
std::uint32_t clockToCreate(const PosixTimerEntry& entry, pid_t signalled, pid_t main) {
    const std::optional<std::uint32_t> kind = kindOfOwnTime(entry.clock_id);
    return kind && signalled != 0 && signalled != main ? clockOfThread(signalled, *kind) : entry.clock_id;
}

}  // namespace

TimerQuery::TimerQuery(std::vector<kernel::PosixTimer> known, const std::vector<HostPid>& threads,
                       const model::TreePids& pids, pie::StepList& steps, pie::RemoteData& data)
    : known_(std::move(known)),
      oneThread_(threads.size() == 1),
      pids_(pids),
      intervalAt_(data.reserve(sizeof(itimerval) * kIntervalTimers)),
      posixAt_(data.reserve(sizeof(itimerspec) * known_.size())) {
    for (int which = 0; which < kIntervalTimers; ++which)
        steps.call(pie::Subject::IntervalTimer, static_cast<std::uint64_t>(which), SYS_getitimer, which,
                   intervalAt_ + sizeof(itimerval) * static_cast<std::size_t>(which));
    for (std::size_t i = 0; i < known_.size(); ++i) {
        kernel::PosixTimer& timer = known_[i];
        const bool signalsEnded = (timer.notify & SIGEV_THREAD_ID) != 0 &&
                                  std::find(threads.begin(), threads.end(), HostPid(timer.target)) == threads.end();
        if (signalsEnded)
            timer.notify = SIGEV_NONE;
        const auto id = static_cast<std::uint64_t>(timer.id);
        // Accepts any result: the call fails if the thread or process of the clock has ended.
        steps.call(pie::Subject::PosixTimer, id, SYS_clock_getres, timer.clock, 0).check = pie::ResultCheck::Any;
        clockAt_.push_back(data.reserve(sizeof(std::int64_t)));
        steps.add(pie::Op::StoreResult, pie::Subject::PosixTimer, id, clockAt_.back()).check = pie::ResultCheck::Any;
        steps.call(pie::Subject::PosixTimer, id, SYS_timer_gettime, id, posixAt_ + sizeof(itimerspec) * i);
        steps.call(pie::Subject::PosixTimer, id, SYS_timer_getoverrun, id);
        overrunAt_.push_back(data.reserve(sizeof(std::uint64_t)));
        steps.add(pie::Op::StoreResult, pie::Subject::PosixTimer, id, overrunAt_.back());
    }
}

void TimerQuery::store(pie::RemoteData& answers, TaskCoreEntry& core, Arena& arena) const {
    auto& timers = *arena.make<TaskTimersEntry>();
    core.timers = &timers;
    timers.real = storeInterval(answers.local<itimerval>(intervalAt_), arena);
    timers.virt = storeInterval(answers.local<itimerval>(intervalAt_ + sizeof(itimerval)), arena);
    timers.prof = storeInterval(answers.local<itimerval>(intervalAt_ + 2 * sizeof(itimerval)), arena);
    timers.n_posix = known_.size();
    timers.posix = arena.array<PosixTimerEntry*>(known_.size());
    for (std::size_t i = 0; i < known_.size(); ++i) {
        const kernel::PosixTimer& timer = known_[i];
        itimerspec value = answers.local<itimerspec>(posixAt_ + sizeof(itimerspec) * i);
        if (value.it_value.tv_sec == 0 && value.it_value.tv_nsec == 0)
            value.it_value = value.it_interval;  // see storeInterval()
        auto& entry = *arena.make<PosixTimerEntry>();
        entry.it_id = static_cast<std::uint32_t>(timer.id);
        entry.clock_id = static_cast<std::uint32_t>(timer.clock);
        entry.si_signo = static_cast<std::uint32_t>(timer.signal);
        entry.it_sigev_notify = static_cast<std::uint32_t>(timer.notify);
        entry.sival_ptr = timer.value;
        // The thread or process of the clock has ended, so the timer never expires, and the kernel refuses to create a
        // timer of this clock. A timer of another clock without a signal behaves equally.
        if (answers.local<std::int64_t>(clockAt_[i]) != 0) {
            entry.clock_id = CLOCK_MONOTONIC;
            entry.it_sigev_notify = SIGEV_NONE;
        }
        if ((entry.it_sigev_notify & SIGEV_THREAD_ID) != 0) {
            entry.has_notify_thread_id = 1;
            entry.notify_thread_id = pids_.inside(HostPid(timer.target)).value;
        }
        entry.overrun = static_cast<std::uint32_t>(answers.local<std::uint64_t>(overrunAt_[i]));
        entry.isec = static_cast<std::uint64_t>(value.it_interval.tv_sec);
        entry.insec = static_cast<std::uint64_t>(value.it_interval.tv_nsec);
        entry.vsec = static_cast<std::uint64_t>(value.it_value.tv_sec);
        entry.vnsec = static_cast<std::uint64_t>(value.it_value.tv_nsec);
        timers.posix[i] = &entry;
    }
}

std::vector<std::int32_t> TimerQuery::ofUnknownThreads() const {
    std::vector<std::int32_t> ids;
    for (const kernel::PosixTimer& timer : known_)
        if (!oneThread_ && kindOfOwnTime(static_cast<std::uint32_t>(timer.clock)) &&
            (timer.notify & SIGEV_THREAD_ID) == 0)
            ids.push_back(timer.id);
    return ids;
}

void restoreTimers(const TaskTimersEntry* timers, TreePid pid, const std::function<pid_t(TreePid)>& numberOf,
                   bool idsSettable, pie::StepList& steps, pie::RemoteData& data) {
    if (timers == nullptr)
        return;
    std::vector<const PosixTimerEntry*> posix(timers->posix, timers->posix + timers->n_posix);
    std::sort(posix.begin(), posix.end(), [](const auto* a, const auto* b) { return a->it_id < b->it_id; });
    if (!posix.empty() && idsSettable)
        steps.call(pie::Subject::PosixTimer, 0, SYS_prctl, kTimerCreateRestoreIds, kRestoreIdsOn, 0, 0, 0);
    for (const PosixTimerEntry* entry : posix) {
        KernelSigevent event;
        event.value = entry->sival_ptr;
        event.signo = static_cast<std::int32_t>(entry->si_signo);
        event.notify = static_cast<std::int32_t>(entry->it_sigev_notify);
        if ((event.notify & SIGEV_THREAD_ID) != 0)
            event.tid = numberOf(entry->has_notify_thread_id != 0 ? TreePid(entry->notify_thread_id) : pid);
        const std::uint64_t eventAt = data.put(event);
        const std::uint32_t clock = clockToCreate(*entry, event.tid, numberOf(pid));
        if (idsSettable)
            steps.call(pie::Subject::PosixTimer, entry->it_id, SYS_timer_create, clock, eventAt,
                       data.put(static_cast<std::int32_t>(entry->it_id)));
        else
            steps.add(pie::Op::TimerCreate, pie::Subject::PosixTimer, entry->it_id, clock, eventAt, entry->it_id);
    }
    if (!posix.empty() && idsSettable)
        steps.call(pie::Subject::PosixTimer, 0, SYS_prctl, kTimerCreateRestoreIds, kRestoreIdsOff, 0, 0, 0);
    for (const PosixTimerEntry* entry : posix) {
        itimerspec value{};
        value.it_interval.tv_sec = static_cast<time_t>(entry->isec);
        value.it_interval.tv_nsec = static_cast<long>(entry->insec);
        value.it_value.tv_sec = static_cast<time_t>(entry->vsec);
        value.it_value.tv_nsec = static_cast<long>(entry->vnsec);
        steps.call(pie::Subject::PosixTimer, entry->it_id, SYS_timer_settime, entry->it_id, 0, data.put(value), 0);
    }
    if (timers->real != nullptr)
        restoreInterval(ITIMER_REAL, *timers->real, steps, data);
    if (timers->virt != nullptr)
        restoreInterval(ITIMER_VIRTUAL, *timers->virt, steps, data);
    if (timers->prof != nullptr)
        restoreInterval(ITIMER_PROF, *timers->prof, steps, data);
}

}  // namespace criu::task
