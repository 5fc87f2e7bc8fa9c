// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/remote_memory.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/single_thread_run.hpp>

#include <algorithm>
#include <array>
#include <optional>

#include "fail.hpp"
#include "proc.hpp"

namespace compel {
namespace {

constexpr std::chrono::milliseconds kLookEvery{1};

/// Scope in which a thread's seccomp filters and strict mode are suspended.
class SeccompSuspended {
public:
    /// Suspends seccomp. Throws Error if the thread has filters or strict mode, and the kernel doesn't allow the
    /// suspension.
    explicit SeccompSuspended(Tracee& thread) : thread_(thread), before_(thread.options()) {
        SeizeOptions suspended = before_;
        suspended.suspendSeccomp = true;
        try {
            thread_.setOptions(suspended);
        } catch (const TraceeGone&) {
            throw;
        } catch (const Error&) {
            const auto status = readThreadStatus(thread.tid());
            if (!status || status->seccomp)
                throw;
        }
    }
    ~SeccompSuspended() {
        try {
            thread_.setOptions(before_);
        } catch (const std::exception&) {
            // Ignored: the thread has ended, or still runs in a call that didn't end in time.
            return;
        }
    }
    SeccompSuspended(const SeccompSuspended&) = delete;
    SeccompSuspended& operator=(const SeccompSuspended&) = delete;

private:
    Tracee& thread_;
    SeizeOptions before_;
};

/// Returns the address of the system call instruction from which the thread returns. Returns nullopt if the memory
/// doesn't contain this instruction any more.
std::optional<RemoteAddress> instructionUsed(const Tracee& thread) {
    const RemoteAddress instruction = thread.registers().ip() - syscallInstructionBytes.size();
    std::array<std::byte, syscallInstructionBytes.size()> there{};
    if (RemoteMemory(thread.tid()).readSome(instruction, there) != there.size() || there != syscallInstructionBytes)
        return std::nullopt;
    return instruction;
}

}  // namespace

std::int64_t insertCall(Tracee& thread, std::int64_t number, const SyscallArguments& arguments) {
    const SeccompSuspended suspended(thread);
    RemoteSyscalls calls(thread, instructionUsed(thread));
    const std::int64_t result = calls.call(number, arguments);
    calls.restore();
    return result;
}

SingleThreadRun::SingleThreadRun(FrozenProcess& process, pid_t tid, std::chrono::milliseconds patience,
                                 SystemCallWatch* watch)
    : process_(process), tid_(tid), watch_(watch) {
    Tracee* const tracee = find();
    if (tracee == nullptr || !tracee->stopped())
        fail("let thread ", tid, " run: it is no stopped thread of process ", process.pid());
    options_ = {.seize = tracee->options(), .patience = patience};
    mask_ = tracee->signalMask();
    blocked_ = allSignals & ~(faultSignals & ~mask_);
    SeizeOptions open = options_.seize;
    open.suspendSeccomp = false;
    tracee->setOptions(open);
    tracee->setSignalMask(blocked_);
    resume();
    running_ = true;
}

void SingleThreadRun::resume(int signal) {
    if (watch_ != nullptr)
        thread().syscallStep(signal);
    else
        thread().cont(signal);
}

SingleThreadRun::~SingleThreadRun() {
    try {
        stop();
    } catch (const std::exception&) {
        // Ignored: the thread has ended or doesn't stop. The code that detaches the process will get the same error.
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
        serve(kLookEvery);
        if (std::chrono::steady_clock::now() >= end)
            failWith(ETIMEDOUT, "thread ", tid_, " of process ", process_.pid(),
                     " didn't do what it was let run for within ", limit.count(), " ms");
    }
}

void SingleThreadRun::serve(std::chrono::nanoseconds limit) {
    const auto info = thread().waitStopFor(limit);
    if (!info)
        return;
    if (info->kind == StopInfo::Kind::Exited)
        throw TraceeGone(
            ESRCH, join("thread ", tid_, " of process ", process_.pid(), " ended while it was let run alone (status ",
                        Hex{static_cast<unsigned>(info->status)}, ")"));
    dealWithStop();
}

/// Handles a stop of the thread and resumes it.
void SingleThreadRun::dealWithStop() {
    Tracee& tracee = thread();
    const StopInfo info = *tracee.stopped();
    if (info.kind == StopInfo::Kind::Syscall)
        dealWithCall();
    if (info.kind != StopInfo::Kind::Signal) {
        resume();  // also resumes from a group-stop, because only this thread of the process runs
        return;
    }
    // Only signals of the kernel have a positive code; signals that processes send have other codes (sigaction(2)).
    if ((faultSignals & signalBit(info.signal)) != 0 && tracee.signalInfo().si_code > 0) {
        resume(info.signal);  // the thread calls its handler, or the kernel ends the process
        return;
    }
    // Another process has sent the signal. Blocks the signal, so that it stays queued until the thread is detached.
    // From now on, a fault with this number would end the process.
    tracee.requeueSignal();
    blocked_ |= signalBit(info.signal);
    tracee.setSignalMask(blocked_);
    resume();
}

void SingleThreadRun::dealWithCall() {
    if (watch_ == nullptr)
        return;
    Tracee& tracee = thread();
    if (tracee.entersSyscall())
        watch_->enter(tracee);
    else if (!watch_->leave(tracee))
        watch_ = nullptr;
}

/// Ends the observation of system calls. The thread may stop at a system call before the requested stop.
void SingleThreadRun::leaveCall() {
    watch_ = nullptr;
    Tracee& tracee = thread();
    if (!tracee.stopped()) {
        tracee.interrupt();
        (void)tracee.waitStopFor(options_.patience);
    }
    if (tracee.stopped() && tracee.stopped()->kind == StopInfo::Kind::Syscall) {
        tracee.interrupt();
        tracee.cont();
    }
}

void SingleThreadRun::stop() {
    if (!running_)
        return;
    running_ = false;
    Tracee* const tracee = find();
    if (tracee != nullptr && watch_ != nullptr)
        leaveCall();
    else if (tracee != nullptr && !tracee->stopped())
        tracee->interrupt();
    // The run may have mapped code that an earlier search didn't find.
    if (tracee != nullptr)
        tracee->setAllowedCode({});
    process_.stop(options_);  // stops the thread, and threads that it has created
    thread().setSignalMask(mask_);
    thread().setOptions(options_.seize);
}

}  // namespace compel
