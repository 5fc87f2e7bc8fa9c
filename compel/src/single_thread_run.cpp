// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/single_thread_run.hpp>

#include <algorithm>

#include "fail.hpp"

namespace compel {
namespace {

/// Signals that the kernel sends a thread for a fault of its own. If they are blocked when that happens the kernel
/// doesn't queue them but ends the process (kernel/signal.c, force_sig_info_to_task()).
constexpr SignalMask kFaults = signalBit(SIGSEGV) | signalBit(SIGBUS) | signalBit(SIGFPE) | signalBit(SIGILL) |
                               signalBit(SIGTRAP) | signalBit(SIGSYS);

constexpr std::chrono::milliseconds kLookEvery{1};

}  // namespace

SingleThreadRun::SingleThreadRun(FrozenProcess& process, pid_t tid, std::chrono::milliseconds patience)
    : process_(process), tid_(tid) {
    Tracee* const tracee = find();
    if (tracee == nullptr || !tracee->stopped())
        fail("let thread ", tid, " run: it is no stopped thread of process ", process.pid());
    options_ = {.seize = tracee->options(), .patience = patience};
    mask_ = tracee->signalMask();
    blocked_ = allSignals & ~(kFaults & ~mask_);
    SeizeOptions open = options_.seize;
    open.suspendSeccomp = false;
    tracee->setOptions(open);
    tracee->setSignalMask(blocked_);
    tracee->cont();
    running_ = true;
}

SingleThreadRun::~SingleThreadRun() {
    try {
        stop();
    } catch (const std::exception&) {
        // The thread has ended, or doesn't stop; whoever detaches the process will meet that, too.
    }
}

Tracee* SingleThreadRun::find() const noexcept {
    auto& threads = process_.threads();
    const auto found = std::find_if(threads.begin(), threads.end(),
                                    [this](const FrozenThread& thread) { return thread.tracee.tid() == tid_; });
    return found == threads.end() || found->tracee.released() ? nullptr : &found->tracee;
}

Tracee& SingleThreadRun::thread() const {
    Tracee* const tracee = find();
    if (tracee == nullptr)
        throw TraceeGone(ESRCH, join("thread ", tid_, " of process ", process_.pid(), ", which was let run alone"));
    return *tracee;
}

void SingleThreadRun::await(const std::function<bool()>& done, std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
        Tracee& tracee = thread();
        if (const auto info = tracee.waitStopFor(kLookEvery)) {
            if (info->kind == StopInfo::Kind::Exited)
                throw TraceeGone(ESRCH, join("thread ", tid_, " of process ", process_.pid(),
                                             " ended while it was let run alone (status ",
                                             Hex{static_cast<unsigned>(info->status)}, ")"));
            dealWithStop();
        }
        if (std::chrono::steady_clock::now() >= end)
            failWith(ETIMEDOUT, "thread ", tid_, " of process ", process_.pid(),
                     " didn't do what it was let run for within ", limit.count(), " ms");
    }
}

/// The thread has stopped by itself: lets it run on.
void SingleThreadRun::dealWithStop() {
    Tracee& tracee = thread();
    const StopInfo info = *tracee.stopped();
    if (info.kind != StopInfo::Kind::Signal) {
        tracee.cont();  // also from a group-stop: the other threads keep the process from running
        return;
    }
    // A positive code is the kernel's: siginfo of signals that processes send has others (sigaction(2)).
    if ((kFaults & signalBit(info.signal)) != 0 && tracee.signalInfo().si_code > 0) {
        tracee.cont(info.signal);  // to its handler, or it ends
        return;
    }
    // Another process has sent it, so it stays queued until the thread is detached. (A fault would end the process
    // now.)
    tracee.requeueSignal();
    blocked_ |= signalBit(info.signal);
    tracee.setSignalMask(blocked_);
    tracee.cont();
}

void SingleThreadRun::stop() {
    if (!running_)
        return;
    running_ = false;
    if (Tracee* const tracee = find(); tracee != nullptr && !tracee->stopped())
        tracee->interrupt();
    process_.stop(options_);  // this thread, and those it has created
    Tracee& tracee = thread();
    tracee.setSignalMask(mask_);
    tracee.setOptions(options_.seize);
}

}  // namespace compel
