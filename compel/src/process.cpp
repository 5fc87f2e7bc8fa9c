// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/interrupted_call.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backoff.hpp"
#include "fail.hpp"
#include "proc.hpp"
#include "syscall_instruction.hpp"

namespace compel {
namespace {

// Pause in microseconds between polls of a killed process' threads. The tracer polls all threads and never waits for a
// single one. In init of a pid namespace, the last thread waits until the tracer has reaped all others
// (zap_pid_ns_processes() of Linux). If the tracer waited for this thread first, it would never return.
constexpr useconds_t kBetweenLooks = 200;

/// Resumes a thread and waits for its next stop. Returns the kind of this stop.
StopInfo::Kind nextStop(Tracee& thread, int signal) {
    thread.cont(signal);
    const StopInfo stop = thread.waitStop();
    if (stop.kind == StopInfo::Kind::Exited)
        throw TraceeGone(ESRCH, join("stop thread ", thread.tid()));
    return stop.kind;
}

/// Returns the number of threads, including zombie threads and kernel worker threads. Throws TraceeGone.
std::size_t readThreadCount(pid_t pid) {
    const auto count = countThreads(pid);
    if (!count)
        throw TraceeGone(ESRCH, join("process ", pid));
    return *count;
}

/// Returns true if the main thread is a zombie. While other threads live, the kernel doesn't report its end to the
/// tracer (delay_group_leader() of Linux).
bool hasEndedAlone(pid_t pid) {
    const auto status = readThreadStatus(pid);
    return status && status->state == 'Z' && status->threads > 1;
}

bool hasEnded(Tracee* thread) {
    try {
        return thread->hasEnded();
    } catch (const TraceeGone&) {
        return true;
    }
}

}  // namespace

FrozenProcess FrozenProcess::freeze(pid_t pid, FreezeOptions options) {
    FrozenProcess process = seizeFirst(pid, options);
    process.stop(options);
    return process;
}

FrozenProcess FrozenProcess::seize(pid_t pid, FreezeOptions options) {
    FrozenProcess process = seizeFirst(pid, options);
    if (process.counted_ > 1 && !process.leaderEnded_)
        process.seizeNewThreads(options);
    return process;
}

FrozenProcess FrozenProcess::seizeFirst(pid_t pid, const FreezeOptions& options) {
    const auto count = countThreads(pid);
    // A process with one thread contains only its main thread.
    const auto status = count && *count > 1 ? readThreadStatus(pid) : std::nullopt;
    if (!count || (*count > 1 && !status))
        throw TraceeGone(ESRCH, join("freeze process ", pid));
    if (status && status->process != pid)
        fail("freeze process ", pid, ": that is a thread of process ", status->process);
    FrozenProcess process(pid);
    process.counted_ = *count;
    process.libraries_ = options.libraries;
    try {
        process.seizeLeader(options);
    } catch (const TraceeGone& gone) {
        throw TraceeGone(gone.code(),
                         join("freeze process ", pid, ": it ended during the freeze (", gone.message(), ")"));
    }
    return process;
}

void FrozenProcess::stop(FreezeOptions options) {
    const auto deadline = std::chrono::steady_clock::now() + options.patience;
    try {
        waitForStops(deadline);
        // Without zombie threads and kernel worker threads, the kernel's number alone shows that no thread runs.
        // Otherwise repeats until the number of threads shows that all were found: running threads may create others,
        // and the kernel's list of threads may omit some if others end during the read.
        while (readThreadCount(pid_) != threads_.size() && seizeListedThreads(options, deadline) != Found::All) {
            if (std::chrono::steady_clock::now() >= deadline)
                failWith(ETIMEDOUT, "freeze process ", pid_, ": it creates threads faster than they can be stopped");
        }
        foreseeInterruptions();
    } catch (const TraceeGone& gone) {
        throw TraceeGone(gone.code(),
                         join("freeze process ", pid_, ": it ended during the freeze (", gone.message(), ")"));
    }
}

/// Calls foresee() for all threads of a stopped process. The kernel kills a thread with `killOnExit` when the tracer
/// dies, so such a thread needs no foresight.
void FrozenProcess::foreseeInterruptions() {
    for (FrozenThread& thread : threads_) {
        thread.tracee.setCallEndsWithTracer(false);
        if (thread.groupStopped() && !thread.tracee.options().killOnExit)
            foresee(thread.tracee);
    }
}

void FrozenProcess::foresee(Tracee& thread) {
    if (!thread.registers().restartsSyscall())
        return;
    try {
        foreseeInterruption(thread, syscallInstruction());
    } catch (const TraceeGone&) {
        throw;
    } catch (const Error&) {
        return;
    }
}

FrozenProcess& FrozenProcess::operator=(FrozenProcess&& other) noexcept {
    if (this != &other) {
        release();
        pid_ = other.pid_;
        counted_ = other.counted_;
        libraries_ = std::move(other.libraries_);
        memory_ = std::move(other.memory_);
        threads_ = std::move(other.threads_);
        acting_ = other.acting_;
        leaderEnded_ = other.leaderEnded_;
        killSent_ = other.killSent_;
        workers_ = other.workers_;
        syscallInstruction_ = other.syscallInstruction_;
        anonymousInodes_ = std::move(other.anonymousInodes_);
    }
    return *this;
}

FrozenProcess::~FrozenProcess() {
    release();
}

void FrozenProcess::release() noexcept {
    // Releases the leader last, because the kernel reports the end of a killed process' leader after the ends of all
    // other threads.
    while (!threads_.empty())
        threads_.pop_back();
}

void FrozenProcess::seizeThread(pid_t tid, const FreezeOptions& options) {
    FrozenThread& thread = threads_.emplace_back(FrozenThread{.tracee = Tracee::seize(tid, options.seize)});
    if constexpr (!Registers::showsEndedCall)
        thread.sleeping = sleepingCall(tid);
    thread.tracee.interrupt();
}

void FrozenProcess::seizeLeader(const FreezeOptions& options) {
    try {
        seizeThread(pid_, options);
    } catch (const TraceeGone&) {
        (void)seizeNewThreads(options);
        if (threads_.empty())
            throw;
        leaderEnded_ = true;
        memory_ = RemoteMemory(leader().tid());
    }
}

std::vector<pid_t> FrozenProcess::seizeNewThreads(const FreezeOptions& options) {
    std::unordered_set<pid_t> known;
    for (const auto& thread : threads_)
        known.insert(thread.tracee.tid());
    const auto listed = listThreads(pid_);
    threads_.reserve(listed.size());
    std::vector<pid_t> dead;
    workers_ = 0;
    for (const pid_t tid : listed) {
        if (known.contains(tid))
            continue;
        if (isKernelWorker(tid)) {
            ++workers_;
            continue;
        }
        try {
            seizeThread(tid, options);
        } catch (const TraceeGone&) {
            dead.push_back(tid);
        }
    }
    return dead;
}

FrozenProcess::Found FrozenProcess::seizeListedThreads(const FreezeOptions& options, Deadline deadline) {
    const std::vector<pid_t> dead = seizeNewThreads(options);
    waitForStops(deadline);
    // Adds the zombie threads, because the kernel counts a zombie thread until it is reaped.
    const auto lingering = std::count_if(dead.begin(), dead.end(), [this](pid_t tid) {
        const auto thread = readThreadStatus(tid);
        return thread && thread->process == pid_;
    });
    return readThreadCount(pid_) == threads_.size() + static_cast<std::size_t>(lingering) + workers_ ? Found::All
                                                                                                     : Found::Perhaps;
}

void FrozenProcess::waitForStops(Deadline deadline) {
    // Polls all threads in rounds and never waits for a single thread. Threads of a dying process may end only after
    // others were reaped, in an unknown order.
    std::vector<std::size_t> waiting;
    for (std::size_t index = threads_.size(); index-- > 0;)
        if (!threads_[index].tracee.stopped())
            waiting.push_back(index);
    auto pause = std::chrono::nanoseconds{0};
    Backoff backoff;
    while (!waiting.empty()) {
        bool progress = false;
        bool looked = false;
        std::erase_if(waiting, [&](std::size_t index) {
            auto& tracee = threads_[index].tracee;
            std::optional<StopInfo> info;
            try {
                // Waits only in the first poll of a round.
                info = tracee.waitStopFor(std::exchange(looked, true) ? std::chrono::nanoseconds{0} : pause, backoff);
            } catch (const TraceeGone&) {
                info = StopInfo{.kind = StopInfo::Kind::Exited};
            }
            const bool slow = pause >= std::chrono::milliseconds{1};
            if (!info && !(slow && tracee.tid() == pid_ && hasEndedAlone(pid_)))
                return false;
            if (!info)
                tracee.disown();
            progress = true;
            return true;
        });
        if (progress)
            backoff = Backoff();
        pause = progress ? std::chrono::microseconds{50} : std::chrono::milliseconds{1};
        if (!waiting.empty() && std::chrono::steady_clock::now() >= deadline) {
            const pid_t tid = threads_[waiting.front()].tracee.tid();
            const auto status = readThreadStatus(tid);
            failWith(ETIMEDOUT, "freeze process ", pid_, ": thread ", tid, " (state ", status ? status->state : '?',
                     ") doesn't stop; it may be in vfork or wait for a device or network file system");
        }
    }
    for (auto& thread : threads_) {
        try {
            if (!thread.tracee.released()) {
                thread.tracee.requeueSignal();
                restartInterruptedCall(thread.tracee, std::exchange(thread.sleeping, std::nullopt));
            }
        } catch (const TraceeGone&) {
            continue;
        }
        const auto& stop = thread.tracee.stopped();
        thread.stopSignal = stop && stop->kind == StopInfo::Kind::GroupStop ? stop->signal : 0;
    }
    forgetEnded();
}

/// Removes ended threads from the list. Throws TraceeGone if no thread is left.
void FrozenProcess::forgetEnded() {
    std::erase_if(threads_, [](const FrozenThread& thread) { return thread.tracee.released(); });
    if (threads_.empty())
        throw TraceeGone(ESRCH, join("stop process ", pid_));
    leaderEnded_ = leader().tid() != pid_;
    if (leaderEnded_)
        memory_ = RemoteMemory(leader().tid());
}

FrozenThread& FrozenProcess::adopt(pid_t tid) {
    FrozenThread& thread = threads_.emplace_back(FrozenThread{.tracee = Tracee::bornTraced(tid, leader().options())});
    if (thread.tracee.waitStop().kind != StopInfo::Kind::Interrupted)
        fail("thread ", tid, " of process ", pid_, " isn't stopped at its birth");
    return thread;
}

std::optional<SyscallInstruction> FrozenProcess::syscallInstruction() {
    if (!syscallInstruction_)
        syscallInstruction_ = findSyscallInstruction(
            leader().tid(),
            [this](std::string_view name) {
                if (name.starts_with("anon_inode:"))
                    anonymousInodes_.emplace(name);
            },
            libraries_.get());
    return *syscallInstruction_;
}

std::optional<SyscallInstruction> FrozenProcess::unmappingInstruction(RemoteAddress start, RemoteAddress end) {
    const auto isOutside = [&](RemoteAddress at) { return at - start >= end - start; };
    auto found = syscallInstruction();
    const auto any = found;
    if (found && (found->restorer == 0 || !isOutside(found->address) || !isOutside(found->restorer)))
        found = findReturningInstruction(leader().tid(), {end, start});
    if (!found && any && !leader().registers().isNative())
        return SyscallInstruction(any->address);
    return found;
}

bool FrozenProcess::maps(std::string_view anonymousInode) {
    (void)syscallInstruction();
    return anonymousInodes_.contains(anonymousInode);
}

/// Sends a stop signal to the process, and resumes the leader, so that the leader takes the signal. Returns false if
/// the signal doesn't stop the process.
bool FrozenProcess::takeStopSignal(int signal) {
    if (::kill(pid_, signal) < 0)
        failErrno("stop process ", pid_);
    if (nextStop(leader(), 0) != StopInfo::Kind::Signal)
        return false;
    // Requests a stop, so that the leader stops again before it executes code.
    leader().interrupt();
    return nextStop(leader(), signal) == StopInfo::Kind::GroupStop;
}

void FrozenProcess::stopAsGroup(int signal) {
    std::vector<SignalMask> masks;
    for (std::size_t i = acting_; i < threads_.size(); ++i) {
        masks.push_back(threads_[i].tracee.signalMask());
        threads_[i].tracee.setSignalMask(allSignals & ~signalBit(signal));
    }
    const bool stops = takeStopSignal(signal) || (signal != SIGSTOP && takeStopSignal(SIGSTOP));
    // Resumes the other threads. They stop at once, because the kernel has requested their group-stop.
    for (std::size_t i = acting_ + 1; i < threads_.size() && stops; ++i)
        (void)nextStop(threads_[i].tracee, 0);
    for (std::size_t i = acting_; i < threads_.size(); ++i)
        threads_[i].tracee.setSignalMask(masks[i - acting_]);
    if (!stops)
        fail("process ", pid_, " isn't stopped by signal ", signal);
}

void FrozenProcess::releaseEndingLeader() {
    constexpr std::chrono::seconds patience{10};
    leader().detach();
    ++acting_;
    leaderEnded_ = true;
    memory_ = RemoteMemory(leader().tid());
    for (const auto deadline = std::chrono::steady_clock::now() + patience; !hasEndedAlone(pid_);) {
        if (!readThreadStatus(pid_))
            throw TraceeGone(ESRCH, join("end the main thread of process ", pid_));
        if (std::chrono::steady_clock::now() >= deadline)
            failWith(ETIMEDOUT, "end the main thread of process ", pid_);
        ::usleep(kBetweenLooks);
    }
}

void FrozenProcess::detach() {
    std::exception_ptr failure;
    for (auto thread = threads_.rbegin(); thread != threads_.rend(); ++thread) {
        try {
            if (!thread->tracee.released())
                thread->tracee.detach();
        } catch (const Error&) {
            if (!failure)
                failure = std::current_exception();
        }
    }
    release();
    if (failure)
        std::rethrow_exception(failure);
}

std::vector<Tracee*> FrozenProcess::sendKill() {
    if (!killSent_ && ::kill(pid_, SIGKILL) < 0 && errno != ESRCH)
        failErrno("kill process ", pid_);
    killSent_ = true;
    if (leader().stoppedAtEnd())
        leader().cont();
    std::vector<Tracee*> left;
    for (std::size_t i = acting_; i < threads_.size(); ++i)
        left.push_back(&threads_[i].tracee);
    return left;
}

void FrozenProcess::keepMemoryWhenKilled() {
    SeizeOptions options = leader().options();
    options.stopAtEnd = true;
    leader().setOptions(options);
}

bool FrozenProcess::waitKilled() {
    try {
        return leader().waitStopAtEnd();
    } catch (const TraceeGone&) {
        return false;
    }
}

void FrozenProcess::beginKill() {
    (void)sendKill();
}

void FrozenProcess::kill() {
    std::vector<Tracee*> left = sendKill();
    while (std::erase_if(left, hasEnded), left.size() > 1)
        ::usleep(kBetweenLooks);
    try {
        if (!left.empty())
            left.front()->waitEnd();
    } catch (const TraceeGone&) {
        // Ignored: the thread has already ended.
    }
    release();
}

bool FrozenProcess::killFirst(std::chrono::milliseconds patience) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point since = Clock::now();
    std::vector<Tracee*> left = sendKill();
    while (std::erase_if(left, hasEnded), !left.empty()) {
        if (!std::all_of(left.begin(), left.end(), [](const Tracee* thread) { return hasNothingLeft(thread->tid()); }))
            since = Clock::now();
        if (Clock::now() - since >= patience)
            break;
        ::usleep(kBetweenLooks);
    }
    disown();
    return left.empty();
}

void FrozenProcess::dieWithTracer() {
    SeizeOptions options = leader().options();
    options.killOnExit = true;
    leader().setOptions(options);
}

void FrozenProcess::killAtExit() {
    dieWithTracer();
    killSent_ = true;
    disown();
}

void FrozenProcess::disown() noexcept {
    for (FrozenThread& thread : threads_)
        thread.tracee.disown();
    release();
}

}  // namespace compel
