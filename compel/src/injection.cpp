// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/injection.hpp>
#include <compel/remote_syscalls.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <utility>

#include "fail.hpp"
#include "proc.hpp"

namespace compel {

namespace {

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
