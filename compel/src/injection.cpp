// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/injection.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/rseq.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <memory>
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

SignalSets readSignals(pid_t tid) {
    const auto status = readThreadStatus(tid);
    if (!status)
        throw TraceeGone(ESRCH, join("process ", tid));
    return {status->caught, status->ignored, status->pending, status->pendingForProcess};
}

/// Adds the signals that are in the queues of a thread and its process. A queue doesn't show a signal for whose siginfo
/// the kernel had no memory.
SignalSets withQueued(SignalSets sets, const Tracee& tracee) {
    for (const siginfo_t& info : tracee.pendingSignals(SignalQueue::Thread))
        sets.pending |= signalBit(info.si_signo);
    for (const siginfo_t& info : tracee.pendingSignals(SignalQueue::Process))
        sets.pendingForProcess |= signalBit(info.si_signo);
    sets.pending |= sets.pendingForProcess;
    return sets;
}

/// Chooses the end signal of a blob: a signal that the process ignores, because the kernel drops such a signal if the
/// tracer has died. If the process handles all candidates, chooses SIGURG, which programs treat as harmless.
EndSignal chooseEndSignal(const SignalSets& sets) {
    // Excludes stop signals and SIGCONT: sending one kind makes the kernel discard pending signals of the other kind
    // (prepare_signal() of Linux).
    constexpr std::array ignoredByDefault{SIGURG, SIGWINCH, SIGCHLD};
    constexpr std::array oftenIgnored{SIGPIPE, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGIO};
    const auto isIn = [](std::uint64_t set, int signal) { return (set & signalBit(signal)) != 0; };
    for (const int signal : ignoredByDefault)
        if (!isIn(sets.caught | sets.pending, signal))
            return {signal, true, sets.pendingForProcess};
    for (const int signal : oftenIgnored)
        if (isIn(sets.ignored & ~sets.pending, signal))
            return {signal, true, sets.pendingForProcess};
    return {SIGURG, false, sets.pendingForProcess};
}

std::uint64_t wholePages(std::uint64_t size) noexcept {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return (size + page - 1) & ~(page - 1);
}

}  // namespace

namespace {

/// System calls that several threads make at the same time. A thread whose call fails makes no further calls.
class ParallelCalls {
public:
    /// Adds a thread. Returns false, and adds nothing, if the thread has ended or runs 32-bit code, for which the
    /// tracer must choose addresses.
    bool add(Tracee& thread, const std::optional<SyscallInstruction>& instruction) {
        try {
            auto calls = std::make_unique<RemoteSyscalls>(thread, instruction);
            if (!calls->savedRegisters().isNative())
                return false;
            calls_.push_back(std::move(calls));
        } catch (const Error&) {
            return false;
        }
        return true;
    }

    /// Makes the call `number` in all threads. `argumentsOf`: returns the arguments for the thread with this index.
    /// Returns the results, with -ESRCH for a thread that can't make the call.
    template <typename ArgumentsOf>
    std::vector<std::int64_t> make(std::int64_t number, const ArgumentsOf& argumentsOf) {
        std::vector<std::int64_t> results(calls_.size(), -ESRCH);
        forEach([&](std::size_t i) { calls_[i]->startCall(number, argumentsOf(i)); });
        forEach([&](std::size_t i) { calls_[i]->passEntry(); });
        forEach([&](std::size_t i) { results[i] = calls_[i]->finishCall(); });
        return results;
    }

    /// Restores all threads.
    void restore() {
        forEach([&](std::size_t i) { calls_[i]->startRestore(); });
        forEach([&](std::size_t i) { calls_[i]->restore(); });
    }

    void leaveOut(std::size_t at) noexcept { calls_[at].reset(); }

private:
    template <typename Work>
    void forEach(const Work& work) {
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            if (!calls_[i])
                continue;
            try {
                work(i);
            } catch (const Error&) {
                calls_[i].reset();  // the destructor restores the thread
            }
        }
    }

    std::vector<std::unique_ptr<RemoteSyscalls>> calls_;  ///< null for a thread whose call failed
};

}  // namespace

std::vector<std::optional<InjectedMemory>> mapBlobs(const Blob& blob, std::span<const InjectionRequest> requests) {
    std::vector<std::optional<InjectedMemory>> all(requests.size());
    const std::uint64_t codeSize = wholePages(blob.bytes.size());
    ParallelCalls calls;
    std::vector<std::size_t> chosen;  // index of the request of each thread in `calls`
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const InjectionRequest& request = requests[i];
        if (request.dataSize != 0 && request.syscallInstruction && request.syscallInstruction->restorer != 0 &&
            calls.add(*request.thread, request.syscallInstruction))
            chosen.push_back(i);
    }
    // The first call reserves memory for both. The second call replaces a part of it by memory for data.
    constexpr std::uint64_t flags = MAP_PRIVATE | MAP_ANONYMOUS;
    const auto dataSizeOf = [&](std::size_t at) { return wholePages(requests[chosen[at]].dataSize); };
    const auto codes = calls.make(SYS_mmap, [&](std::size_t at) {
        return SyscallArguments{0, codeSize + dataSizeOf(at), PROT_READ | PROT_EXEC, flags, ~std::uint64_t{0}, 0};
    });
    for (std::size_t at = 0; at < chosen.size(); ++at)
        if (isSyscallError(codes[at]))
            calls.leaveOut(at);
    const auto datas = calls.make(SYS_mmap, [&](std::size_t at) {
        return SyscallArguments{static_cast<std::uint64_t>(codes[at]) + codeSize,
                                dataSizeOf(at),
                                PROT_READ | PROT_WRITE,
                                flags | MAP_FIXED,
                                ~std::uint64_t{0},
                                0};
    });
    calls.restore();
    for (std::size_t at = 0; at < chosen.size(); ++at) {
        if (isSyscallError(codes[at]))
            continue;
        const InjectionRequest& request = requests[chosen[at]];
        const auto code = static_cast<RemoteAddress>(codes[at]);
        try {
            if (!isSyscallError(datas[at])) {
                RemoteMemory(request.thread->tid()).write(code, blob.bytes);
                all[chosen[at]] = InjectedMemory{code, code + codeSize, dataSizeOf(at)};
                continue;
            }
        } catch (const Error&) {
            // The process keeps nothing of a blob that isn't complete.
        }
        try {
            RemoteSyscalls remote(*request.thread, request.syscallInstruction);
            remote.munmap(code, codeSize + dataSizeOf(at));
            remote.restore();
        } catch (const Error&) {
            // Ignored: the thread has ended, or the caller's next call in it fails, too.
            continue;
        }
    }
    return all;
}

SyscallInstruction syscallInstructionIn(const Blob& blob, RemoteAddress code) {
    const auto addressOf = [&](const auto& bytes) {
        const auto found = std::search(blob.bytes.begin(), blob.bytes.end(), bytes.begin(), bytes.end());
        if (found == blob.bytes.end())
            fail("the blob at ", Hex{code}, " has no system call instruction");
        return code + static_cast<std::uint64_t>(found - blob.bytes.begin());
    };
    return {addressOf(syscallReturnBytes), addressOf(restorerBytes)};
}

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
    const RemoteBuffer buffer(remote, wholePages(sizeof(siginfo_t)));
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

Injection::Injection(Tracee& thread, const Blob& blob, std::uint64_t dataSize,
                     std::optional<SyscallInstruction> syscallInstruction)
    : thread_(thread),
      blob_(blob),
      memory_(thread.tid()),
      syscallInstruction_(syscallInstruction),
      codeSize_(wholePages(blob.bytes.size())),
      dataSize_(wholePages(dataSize)) {
    if (!syscallInstruction_)
        syscallInstruction_ = findSyscallInstruction(thread.tid());
    try {
        const bool ownRestorer = syscallInstruction_ && syscallInstruction_->restorer != 0;
        {
            constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
            RemoteSyscalls remote(thread_, syscallInstruction_);
            // As in mapBlobs(), the first call reserves memory for code and data.
            code_ = remote.mmap(0, codeSize_ + dataSize_, PROT_READ | PROT_EXEC, flags);
            data_ = dataSize_ == 0 ? 0 : code_ + codeSize_;
            if (dataSize_ != 0 && ownRestorer)
                remote.mmapScratch(dataSize_, data_);
            remote.restore();
        }
        memory_.write(code_, blob_.bytes);
        blobsInstruction_ = ownRestorer ? syscallInstruction_ : syscallInstructionIn(blob, code_);
        if (dataSize_ != 0 && !ownRestorer) {
            // The instruction that the process itself contains has no restorer: if the tracer died in a call, the
            // thread couldn't continue. So criu uses this instruction only for the first calls.
            RemoteSyscalls remote(thread_, blobsInstruction_);
            remote.mmapScratch(dataSize_, data_);
            remote.restore();
        }
    } catch (const Error& error) {
        const std::string what = join("put a blob into process ", thread_.tid(), ": ", error.message());
        const int code = error.code();
        try {
            unmap();
        } catch (const Error&) {
            throw Error(0, what);
        }
        if (code == ESRCH)
            throw TraceeGone(0, what);
        throw Error(0, what);
    }
}

Injection::Injection(Tracee& thread, const Blob& blob, const InjectedMemory& present,
                     std::optional<SyscallInstruction> syscallInstruction)
    : thread_(thread),
      blob_(blob),
      memory_(thread.tid()),
      codeSize_(present.data - present.code),
      dataSize_(present.dataSize),
      code_(present.code),
      data_(present.data) {
    blobsInstruction_ = syscallInstruction && syscallInstruction->restorer != 0 ? *syscallInstruction
                                                                                : syscallInstructionIn(blob, code_);
    syscallInstruction_ = syscallInstruction ? syscallInstruction : blobsInstruction_;
}

Injection::~Injection() {
    try {
        unmap();
    } catch (const std::exception&) {
        // Ignored: the thread has ended, and the kernel has freed its memory.
        return;
    }
}

BlobRun Injection::start(Tracee& thread, std::uint64_t argument, RemoteAddress stackTop, Pace pace) {
    if (!end_)
        end_ = chooseEndSignal(signals_ ? withQueued(*signals_, thread_) : readSignals(thread_.tid()));
    BlobRun run(thread, memory_, code_, blob_, *end_, pace);
    run.go(argument, stackTop);
    return run;
}

std::int64_t Injection::run(Tracee& thread, std::uint64_t argument, RemoteAddress stackTop) {
    return start(thread, argument, stackTop).finish();
}

void Injection::cure() {
    unmap();
}

bool Injection::isOneRange() const noexcept {
    return code_ != 0 && data_ != 0 && (code_ + codeSize_ == data_ || data_ + dataSize_ == code_) &&
           syscallInstruction_ && syscallInstruction_->restorer != 0;
}

void Injection::cureAll(std::span<Injection* const> injections) {
    ParallelCalls calls;
    std::vector<Injection*> unmapped;
    for (Injection* const injection : injections)
        if (injection->isOneRange() && calls.add(injection->thread_, injection->syscallInstruction_))
            unmapped.push_back(injection);
    const auto results = calls.make(SYS_munmap, [&](std::size_t at) {
        const Injection& injection = *unmapped[at];
        return SyscallArguments{std::min(injection.code_, injection.data_), injection.codeSize_ + injection.dataSize_};
    });
    calls.restore();
    for (std::size_t i = 0; i < unmapped.size(); ++i)
        if (results[i] == 0)
            unmapped[i]->code_ = unmapped[i]->data_ = 0;
}

void Injection::unmap() {
    if (code_ == 0 && data_ == 0)
        return;
    if (code_ != 0 && data_ != 0 && blobsInstruction_ && (!syscallInstruction_ || syscallInstruction_->restorer == 0)) {
        RemoteSyscalls remote(thread_, blobsInstruction_);
        remote.munmap(std::exchange(data_, 0), dataSize_);
    }
    RemoteSyscalls remote(thread_, syscallInstruction_);
    const auto code = std::exchange(code_, 0);
    const auto data = std::exchange(data_, 0);
    // The kernel usually maps memory from high to low addresses, so data usually ends where the code starts.
    if (code != 0 && data != 0 && (code + codeSize_ == data || data + dataSize_ == code)) {
        remote.munmap(std::min(code, data), codeSize_ + dataSize_);
    } else {
        if (code != 0)
            remote.munmap(code, codeSize_);
        if (data != 0)
            remote.munmap(data, dataSize_);
    }
    remote.restore();
}

}  // namespace compel
