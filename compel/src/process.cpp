// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <signal.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "fail.hpp"
#include "proc.hpp"

namespace compel {

FrozenProcess FrozenProcess::freeze(pid_t pid, FreezeOptions options) {
    const auto status = readThreadStatus(pid);
    if (!status)
        throw TraceeGone(ESRCH, join("freeze process ", pid));
    if (status->process != pid)
        fail("freeze process ", pid, ": that is a thread of process ", status->process);
    FrozenProcess process(pid);
    try {
        // As long as a thread runs it may create others, and the kernel's list of threads may leave out one when
        // another ends while it is read. A list read while all known threads are stopped is complete if it has nothing
        // new, not even a thread that has ended since.
        std::unordered_set<pid_t> dead;
        while (process.seizeNewThreads(options, dead)) {
        }
    } catch (const TraceeGone& gone) {
        throw TraceeGone(gone.code(), join("freeze process ", pid, ": it ended meanwhile (", gone.what(), ")"));
    }
    return process;
}

FrozenProcess& FrozenProcess::operator=(FrozenProcess&& other) noexcept {
    if (this != &other) {
        release();
        pid_ = other.pid_;
        memory_ = std::move(other.memory_);
        threads_ = std::move(other.threads_);
        syscallInstruction_ = other.syscallInstruction_;
    }
    return *this;
}

FrozenProcess::~FrozenProcess() {
    release();
}

void FrozenProcess::release() noexcept {
    // The leader goes last: the end of a killed process's leader is reported after those of all others.
    while (!threads_.empty())
        threads_.pop_back();
}

bool FrozenProcess::seizeNewThreads(const FreezeOptions& options, std::unordered_set<pid_t>& dead) {
    const std::size_t first = threads_.size();
    bool found = false;
    std::unordered_set<pid_t> known;
    for (const auto& thread : threads_)
        known.insert(thread.tracee.tid());
    auto listed = listThreads(pid_);
    std::erase_if(listed, [&](pid_t tid) { return known.contains(tid); });
    // Leader first: threads() promises it, and a process that can't be traced is noticed at once.
    if (const auto leader = std::find(listed.begin(), listed.end(), pid_); leader != listed.end())
        std::iter_swap(listed.begin(), leader);

    threads_.reserve(first + listed.size());
    for (const pid_t tid : listed) {
        try {
            threads_.push_back(FrozenThread{.tracee = Tracee::seize(tid, options.seize)});
            found = true;
            threads_.back().tracee.interrupt();
        } catch (const TraceeGone&) {
            if (tid == pid_) {
                if (listed.size() > 1)
                    fail("freeze process ", pid_, ": its main thread has exited while other threads live on");
                throw;
            }
            found |= dead.insert(tid).second;
        }
    }
    waitForStops(first, options);
    settleThreads(first);
    return found;
}

void FrozenProcess::waitForStops(std::size_t first, const FreezeOptions& options) {
    // A dying process has threads that end only after others were reaped, in an order that isn't known here. So none
    // is waited for alone: whoever isn't ready is looked at again in the next round.
    const auto end = std::chrono::steady_clock::now() + options.patience;
    std::vector<std::size_t> waiting;
    for (std::size_t index = threads_.size(); index-- > first;)
        waiting.push_back(index);
    std::vector<std::size_t> dead;
    auto pause = std::chrono::nanoseconds{0};
    while (!waiting.empty()) {
        bool progress = false;
        std::erase_if(waiting, [&](std::size_t index) {
            auto& tracee = threads_[index].tracee;
            std::optional<StopInfo> info;
            try {
                // All but the first look of a round pass by at once.
                info = tracee.waitStopFor(progress ? std::chrono::nanoseconds{0} : pause);
            } catch (const TraceeGone&) {
                info = StopInfo{.kind = StopInfo::Kind::Exited};
            }
            if (!info)
                return false;
            progress = true;
            if (info->kind == StopInfo::Kind::Exited)
                dead.push_back(index);
            return true;
        });
        pause = progress ? std::chrono::microseconds{50} : std::chrono::milliseconds{1};
        if (!waiting.empty() && std::chrono::steady_clock::now() >= end) {
            const pid_t tid = threads_[waiting.front()].tracee.tid();
            const auto status = readThreadStatus(tid);
            failWith(ETIMEDOUT, "freeze process ", pid_, ": thread ", tid, " (state ", status ? status->state : '?',
                     ") doesn't stop; it may be in vfork or wait for a device or network file system");
        }
    }
    std::sort(dead.begin(), dead.end(), std::greater<>());
    for (const auto index : dead) {
        if (index == 0)
            throw TraceeGone(ESRCH, join("stop process ", pid_));
        threads_.erase(threads_.begin() + static_cast<std::ptrdiff_t>(index));
    }
}

void FrozenProcess::settleThreads(std::size_t first) {
    for (std::size_t index = first; index < threads_.size();) {
        auto& thread = threads_[index];
        try {
            thread.tracee.settle();
            const auto& stop = thread.tracee.stopped();
            thread.stopSignal = stop->kind == StopInfo::Kind::GroupStop ? stop->signal : 0;
            ++index;
        } catch (const TraceeGone&) {
            if (index == 0)
                throw;
            threads_.erase(threads_.begin() + static_cast<std::ptrdiff_t>(index));
        }
    }
}

std::optional<RemoteAddress> FrozenProcess::syscallInstruction() {
    if (!syscallInstruction_)
        syscallInstruction_ = findSyscallInstruction(pid_);
    return *syscallInstruction_;
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

void FrozenProcess::kill() {
    if (::kill(pid_, SIGKILL) < 0 && errno != ESRCH)
        failErrno("kill process ", pid_);
    for (auto thread = threads_.rbegin(); thread != threads_.rend(); ++thread) {
        try {
            thread->tracee.waitEnd();
        } catch (const TraceeGone&) {
            continue;
        }
    }
    release();
}

}  // namespace compel
