// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/blob_run.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/rseq.hpp>

#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <utility>

#include "fail.hpp"
#include "proc.hpp"
#include "return_path.hpp"

namespace compel {

namespace {

bool isFault(int signal) noexcept {
    return (faultSignals & signalBit(signal)) != 0;
}

// Returns true if a task has sent the signal by kill(2), tgkill(2) or sigqueue(3). Only signals of the kernel itself
// have positive codes, including SI_KERNEL.
bool sentByATask(const siginfo_t& info) noexcept {
    return info.si_code <= 0;
}

// Returns the signals of faults in the thread's queue. The queue may contain such a signal: if the tracer interrupts a
// thread at a fault, the thread stops before it gets the fault's signal (get_signal() of Linux). Other tasks may also
// have sent such signals.
std::vector<siginfo_t> waitingFaults(const Tracee& tracee) {
    std::vector<siginfo_t> found = tracee.pendingSignals(SignalQueue::Thread);
    std::erase_if(found, [](const siginfo_t& info) { return !isFault(info.si_signo); });
    return found;
}

/// Returns true for the siginfo that the kernel invents for a signal whose real siginfo didn't fit into the queue
/// (collect_signal() of Linux).
bool hasNoSender(const siginfo_t& info) noexcept {
    return info.si_code == SI_USER && info.si_pid == 0 && info.si_uid == 0;
}

bool isSameFault(const siginfo_t& one, const siginfo_t& other) noexcept {
    return one.si_signo == other.si_signo && one.si_code == other.si_code && one.si_addr == other.si_addr;
}

}  // namespace

BlobRun::BlobRun(Tracee& tracee, const RemoteMemory& memory, RemoteAddress code, const Blob& blob, EndSignal end,
                 Pace pace)
    : tracee_(&tracee), memory_(&memory), code_(code), blob_(&blob), end_(end), pace_(pace) {
    // Reads the registers afterwards, because some kernels show them differently in a Syscall stop.
    tracee.requeueSignal();
    saved_ = tracee.registers();
    fixRseqIp(tracee, memory, saved_);
    savedMask_ = tracee.signalMask();
    savedShadowStack_ = tracee.shadowStackPointer();
    lostState_ = tracee.stateLostInCalls();
    dispatch_ = SuspendedDispatch(tracee);
    ownFaults_ = waitingFaults(tracee);
}

BlobRun::BlobRun(BlobRun&& other) noexcept
    : tracee_(other.tracee_),
      memory_(other.memory_),
      code_(other.code_),
      blob_(other.blob_),
      end_(other.end_),
      pace_(other.pace_),
      saved_(other.saved_),
      savedMask_(other.savedMask_),
      savedShadowStack_(other.savedShadowStack_),
      lostState_(std::move(other.lostState_)),
      dispatch_(other.dispatch_),
      returning_(other.returning_),
      ownFaults_(std::move(other.ownFaults_)),
      takenSignals_(std::move(other.takenSignals_)),
      lastFault_(other.lastFault_),
      faultsThere_(other.faultsThere_),
      result_(other.result_),
      running_(std::exchange(other.running_, false)),
      ended_(other.ended_) {}

BlobRun::~BlobRun() {
    if (running_)
        stopQuietly();
}

SignalMask BlobRun::mask() const noexcept {
    // Doesn't block signals of faults, because the kernel resets the action of a blocked signal when its fault occurs.
    // Keeps signals of faults blocked that the thread itself blocks: the thread would take a pending one from its
    // queue, and the signal would be lost if the tracer died before it queues the signal again.
    const SignalMask open = faultSignals & ~savedMask_;
    return allSignals & ~open & ~signalBit(end_.number);
}

/// Returns true if the thread's own mask blocks the end signal, and the thread continues when the tracer dies: the
/// kernel queues a blocked signal even if the process ignores it (sig_ignored() of Linux).
bool BlobRun::mayKeepEndSignal() const noexcept {
    return (savedMask_ & signalBit(end_.number)) != 0 && !tracee_->options().killOnExit;
}

/// A thread with its own registers must never have the signal mask of the blob: if the tracer died then, no signal
/// frame would restore the mask. So go() sets the registers before the mask, and restore() sets the mask before the
/// registers.
void BlobRun::go(std::uint64_t argument, RemoteAddress stackTop) {
    RemoteAddress frame = 0;
    if (!tracee_->options().killOnExit) {
        if (const auto path = ReturnPath::of(*tracee_, saved_, savedMask_, dispatch_)) {
            frame = stackTop = path->placeBelow(stackTop);
            memory_->write(frame, path->bytes(frame, 0));
            returning_ = path->entry(frame);
        }
    }
    const auto enter = [&](int endSignal) {
        Registers registers = saved_;
        registers.setEntry(code_ + blob_->entryOffset, argument, stackTop, endSignal, frame);
        tracee_->setRegisters(registers);
    };
    constexpr int noSignal = 0;
    // After this assignment, the destructor restores the thread.
    running_ = true;
    dispatch_.off(*tracee_, returning_, mask());
    // If the tracer died before the mask lets the end signal through, the thread would keep this signal in its queue.
    enter(mayKeepEndSignal() ? noSignal : end_.number);
    tracee_->setSignalMask(mask());
    if (mayKeepEndSignal())
        enter(end_.number);
    proceed();
}

void BlobRun::proceed(int signal) {
    if (pace_ == Pace::CallByCall)
        tracee_->syscallStep(signal);
    else
        tracee_->cont(signal);
}

bool BlobRun::handleStop(const StopInfo& stop) {
    switch (stop.kind) {
        case StopInfo::Kind::Exited:
            running_ = false;
            throw TraceeGone(ESRCH, join("thread ", tracee_->tid(), " in a blob"));
        case StopInfo::Kind::Interrupted:
        case StopInfo::Kind::GroupStop:
        case StopInfo::Kind::Syscall:
        case StopInfo::Kind::Event:
            proceed();
            return false;
        case StopInfo::Kind::Signal:
            break;
    }
    if ((mask() & signalBit(stop.signal)) != 0 && !isFault(stop.signal)) {
        // The signal is SIGSTOP, because the kernel delivers no other blocked signal except those of faults. SIGSTOP
        // makes a group-stop, and the tracer can resume the thread from it.
        proceed(stop.signal);
        return false;
    }
    const auto info = tracee_->signalInfo();
    const auto registers = tracee_->registers();
    tracee_->swallowSignal();
    if (stop.signal == end_.number && registers.ip() == code_ + blob_->endOffset) {
        // Checks the sender. If a signal of the task with the same number is pending, the thread gets it instead of the
        // blob's signal. A signal without siginfo counts as the blob's, because the siginfo may not have fitted into a
        // full queue.
        const bool isBlobs = info.si_code == SI_TKILL && info.si_pid == registers.blobProcess();
        if (!isBlobs && !hasNoSender(info))
            takenSignals_.push_back({info, isOfThread(info)});
        result_ = registers.blobResult();
        return true;
    }
    const auto own = std::find_if(ownFaults_.begin(), ownFaults_.end(),
                                  [&info](const siginfo_t& each) { return isSameFault(each, info); });
    const bool isOwn = own != ownFaults_.end();
    if (isOwn)
        ownFaults_.erase(own);
    else if (isFault(stop.signal) && (!sentByATask(info) || isFaultAgain(info, registers.ip())))
        crash(info, registers.ip());
    takenSignals_.push_back({info, isOwn || isOfThread(info)});
    proceed();
    return false;
}

/// Returns true if a signal without siginfo must come from a fault of the blob. Linux 5.14 to 6.11 may report a fault
/// without siginfo if the user namespace has reached its limit of queued signals. Other tasks can have sent only a few
/// such signals, because each signal can be pending once for the thread and once for the process.
bool BlobRun::isFaultAgain(const siginfo_t& info, RemoteAddress ip) noexcept {
    constexpr unsigned mostSent = 2 * std::popcount(faultSignals);
    if (std::exchange(lastFault_, ip) != ip)
        faultsThere_ = 0;
    return hasNoSender(info) && ++faultsThere_ > mostSent;
}

/// Returns true if a signal that the thread got during the run came from the queue of the thread. If false, it came
/// from the queue of the process. The kernel takes signals of the thread first (dequeue_signal() of Linux).
bool BlobRun::isOfThread(const siginfo_t& info) const {
    if ((end_.pendingForProcess & signalBit(info.si_signo)) != 0) {
        const auto status = readThreadStatus(tracee_->tid());
        return !status || (status->pendingForProcess & signalBit(info.si_signo)) != 0;
    }
    // kill(2) and sigqueue(3) send signals to the process. A signal of kill(2) always has siginfo.
    return hasNoSender(info) || (info.si_code != SI_USER && info.si_code != SI_QUEUE);
}

void BlobRun::crash(const siginfo_t& info, RemoteAddress ip) {
    // Removes signals without siginfo from the list, because they may be faults of the blob.
    if (hasNoSender(info))
        std::erase_if(takenSignals_, [&info](const TakenSignal& taken) {
            return hasNoSender(taken.info) && taken.info.si_signo == info.si_signo;
        });
    stopQuietly();
    if (ip - code_ < blob_->bytes.size())
        fail("a blob in thread ", tracee_->tid(), " crashed with signal ", info.si_signo, " at offset ",
             Hex{ip - code_}, " (address ", Hex{reinterpret_cast<std::uintptr_t>(info.si_addr)}, ")");
    fail("a blob in thread ", tracee_->tid(), " crashed with signal ", info.si_signo, " outside of its code, at ",
         Hex{ip});
}

bool BlobRun::ended() {
    while (running_ && !ended_) {
        const auto stop = tracee_->waitStopFor(std::chrono::nanoseconds{0});
        if (!stop)
            return false;
        ended_ = handleStop(*stop);
    }
    return true;
}

std::optional<pid_t> BlobRun::awaitClone() {
    while (running_ && !ended_) {
        const auto stop = tracee_->waitStop();
        const auto created = tracee_->createdByClone();
        ended_ = handleStop(stop);
        if (created)
            return created;
    }
    return std::nullopt;
}

std::optional<std::int64_t> BlobRun::awaitCall(std::int64_t number) {
    while (running_ && !ended_) {
        const auto stop = tracee_->waitStop();
        if (stop.kind == StopInfo::Kind::Syscall && !tracee_->entersSyscall()) {
            const Registers registers = tracee_->registers();
            if (registers.syscallNumber() == number) {
                pace_ = Pace::Free;
                return registers.syscallResult();
            }
        }
        ended_ = handleStop(stop);
    }
    return std::nullopt;
}

std::int64_t BlobRun::finish(const std::function<void()>& look) {
    if (!running_)
        fail("a blob's run in thread ", tracee_->tid(), " has been finished already");
    while (!ended_)
        ended_ = handleStop(tracee_->waitStop(look));
    restore();
    return result_;
}

void BlobRun::restore() {
    running_ = false;
    // Requeues the signal of the stop. If the tracer died in this stop, the kernel would deliver the signal, and the
    // thread would handle it with the registers of the blob. An end signal that the restored mask blocks would stay in
    // the queue.
    if (!ended_ || !end_.isIgnored || mayKeepEndSignal())
        tracee_->requeueSignal();
    std::exception_ptr failure;
    try {
        requeueTakenSignals();
    } catch (const Error&) {
        failure = std::current_exception();
    }
    if (savedShadowStack_ && tracee_->shadowStackPointer() != savedShadowStack_)
        tracee_->setShadowStackPointer(*savedShadowStack_);
    // Comes before the registers: if the tracer died between both, the signal frame would set this state, too.
    if (!lostState_.empty())
        tracee_->setExtendedState(lostState_);
    if (const std::exception_ptr other = dispatch_.on(*tracee_, returning_); !failure)
        failure = other;
    tracee_->setSignalMask(savedMask_);
    tracee_->setRegisters(saved_);
    if (failure)
        std::rethrow_exception(failure);
}

void BlobRun::requeueTakenSignals() {
    if (takenSignals_.empty())
        return;
    // Makes the process itself queue the signals again, because no other process may send signals with the siginfo of
    // another sender.
    RemoteSyscalls remote(*tracee_);
    const RemoteBuffer buffer(remote, sizeof(siginfo_t));
    const RemoteMemory memory(tracee_->tid());
    const auto pid = remote.call(SYS_getpid);
    for (const auto& [info, ofThread] : std::exchange(takenSignals_, {})) {
        memory.writeValue(buffer.address(), info);
        if (ofThread)
            remote.call(SYS_rt_tgsigqueueinfo, pid, remote.call(SYS_gettid), info.si_signo, buffer.address());
        else
            remote.call(SYS_rt_sigqueueinfo, pid, info.si_signo, buffer.address());
    }
}

void BlobRun::stopQuietly() noexcept {
    constexpr auto patience = std::chrono::seconds(2);
    try {
        while (!tracee_->stopped()) {
            tracee_->interrupt();
            const auto stop = tracee_->waitStopFor(patience);
            if (!stop || stop->kind == StopInfo::Kind::Exited)
                return;
            if (stop->kind != StopInfo::Kind::Signal)
                continue;
            ended_ = handleStop(*stop);
            if (ended_)
                break;
        }
        restore();
    } catch (const std::exception&) {
        // Ignored: the thread has ended, or handleStop() has found a crash and restored the thread.
        return;
    }
}

}  // namespace compel
