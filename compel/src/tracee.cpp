// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "backoff.hpp"
#include "fail.hpp"
#include "proc.hpp"
#include "ptrace_call.hpp"
#include "user_dispatch.hpp"

namespace compel {

namespace {

using Clock = std::chrono::steady_clock;

// Constants of linux/ptrace.h. This header can't be included together with sys/ptrace.h.
constexpr int eventStop = 128;
constexpr std::uint64_t optionSuspendSeccomp = 1u << 21;
constexpr long setUserDispatchNumber = 0x4210;
constexpr long getUserDispatch = 0x4211;
constexpr std::size_t seccompInstructionSize = 8;  // struct sock_filter

/// Layout of struct ptrace_sud_config of linux/ptrace.h (Linux 6.4).
struct UserDispatchConfiguration {
    std::uint64_t mode;
    std::uint64_t selector;
    std::uint64_t start;
    std::uint64_t size;
};

std::uint64_t optionBits(SeizeOptions options) noexcept {
    std::uint64_t bits = PTRACE_O_TRACESYSGOOD;
    if (options.killOnExit)
        bits |= PTRACE_O_EXITKILL;
    if (options.stopAtEnd)
        bits |= PTRACE_O_TRACEEXIT;
    if (options.stopAtClone)
        bits |= PTRACE_O_TRACECLONE;
    if (options.suspendSeccomp)
        bits |= optionSuspendSeccomp;
    return bits;
}

/// Returns " (NAME)" with the name of a process; "" if the caller may not read it.
std::string nameOf(pid_t pid) {
    std::ifstream file(join("/proc/", pid, "/comm"));
    std::string name;
    return std::getline(file, name) ? join(" (", name, ")") : std::string();
}

/// Returns true if the arguments of the thread's system call, beginning with argument `first`, have these values.
bool hasArguments(const Registers& registers, const SyscallArguments& arguments, std::size_t first) noexcept {
    for (std::size_t index = first; index < arguments.size(); ++index)
        if (registers.syscallArgument(index) != arguments[index])
            return false;
    return true;
}

}  // namespace

Tracee Tracee::seize(pid_t tid, SeizeOptions options) {
    if (rawPtrace(PTRACE_SEIZE, tid, 0, optionBits(options)) == 0)
        return {tid, options};
    const int code = errno;
    if (code == ESRCH)
        throw TraceeGone(code, join("seize thread ", tid));
    if (const auto status = readThreadStatus(tid)) {
        if (status->state == 'Z' || status->state == 'X')
            throw TraceeGone(code, join("seize thread ", tid, ": it has exited (state ", status->state, ")"));
        if (status->tracer == ::getpid() || status->tracer == ::gettid())
            failWith(code, "seize thread ", tid, ": it is traced by this process already");
        if (status->tracer != 0)
            failWith(code, "seize thread ", tid, ": it is traced by process ", status->tracer, nameOf(status->tracer),
                     ", and a thread can have only one tracer");
        if (code == EPERM && options.suspendSeccomp)
            failWith(code, "seize thread ", tid, " with seccomp suspended (needs CAP_SYS_PTRACE and CAP_SYS_ADMIN)");
    } else {
        throw TraceeGone(code, join("seize thread ", tid, ": it is gone"));
    }
    failWith(code, "seize thread ", tid);
}

Tracee::Tracee(Tracee&& other) noexcept
    : tid_(std::exchange(other.tid_, -1)),
      options_(other.options_),
      state_(other.state_),
      callEnds_(other.callEnds_),
      rewound_(other.rewound_),
      allowedCode_(other.allowedCode_),
      stop_(std::exchange(other.stop_, std::nullopt)) {}

Tracee& Tracee::operator=(Tracee&& other) noexcept {
    if (this != &other) {
        releaseQuietly();
        tid_ = std::exchange(other.tid_, -1);
        options_ = other.options_;
        state_ = other.state_;
        callEnds_ = other.callEnds_;
        rewound_ = other.rewound_;
        allowedCode_ = other.allowedCode_;
        stop_ = std::exchange(other.stop_, std::nullopt);
    }
    return *this;
}

Tracee::~Tracee() {
    releaseQuietly();
}

void Tracee::releaseQuietly() noexcept {
    // Limits the wait for a thread that is blocked in the kernel. The kernel detaches such a thread when the tracer
    // ends.
    constexpr auto patience = std::chrono::seconds(2);
    if (released())
        return;
    try {
        if (!stop_) {
            interrupt();
            if (!waitStopFor(patience))
                return;
        }
        if (!released())
            detach();
    } catch (const std::exception&) {
        reap(patience);
    }
}

// Reaps a killed thread. The thread and its process remain zombies until the tracer has reaped the thread.
void Tracee::reap(std::chrono::nanoseconds limit) noexcept {
    try {
        do {
            stop_.reset();
        } while (waitStopFor(limit) && !released());
    } catch (const std::exception&) {
        state_ = State::Released;
    }
}

void Tracee::failRequest(const char* name, int code) const {
    if (code == ESRCH)
        throw TraceeGone(code, join(name, " of thread ", tid_, ": it has ended or isn't stopped"));
    failWith(code, name, " of thread ", tid_);
}

long Tracee::request(const char* name, long number, std::uint64_t address, std::uint64_t data) const {
    const long result = rawPtrace(number, tid_, address, data);
    if (result < 0)
        failRequest(name, errno);
    return result;
}

void Tracee::interrupt() {
    request("PTRACE_INTERRUPT", PTRACE_INTERRUPT, 0, 0);
}

StopInfo Tracee::noteStatus(int status) {
    registers_.reset();
    StopInfo info{.kind = StopInfo::Kind::Exited, .status = status};
    if (!WIFSTOPPED(status)) {
        state_ = State::Released;
        stop_.reset();
        return info;
    }
    const int event = status >> 16;
    const int signal = WSTOPSIG(status);
    if (event == eventStop) {
        info.kind = signal == SIGTRAP ? StopInfo::Kind::Interrupted : StopInfo::Kind::GroupStop;
        info.signal = signal == SIGTRAP ? 0 : signal;
    } else if (event != 0) {
        info.kind = StopInfo::Kind::Event;
        info.event = event;
    } else if (signal == (SIGTRAP | 0x80)) {
        info.kind = StopInfo::Kind::Syscall;
    } else {
        info.kind = StopInfo::Kind::Signal;
        info.signal = signal;
    }
    state_ = State::Stopped;
    stop_ = info;
    return info;
}

std::optional<StopInfo> Tracee::pollStop(int flags) {
    int status = 0;
    pid_t got = 0;
    do {
        got = ::waitpid(tid_, &status, __WALL | flags);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        // wait4(2) fails if another thread has got this thread's tid by execve(2).
        const int code = errno;
        state_ = State::Released;
        stop_.reset();
        throw TraceeGone(code, join("wait for thread ", tid_));
    }
    if (got == 0)
        return std::nullopt;
    return noteStatus(status);
}

StopInfo Tracee::waitStop(const std::function<void()>& look) {
    if (stop_)
        return *stop_;
    // Polls at first, because most stops come within microseconds. Sleeping would take longer, especially if an idle
    // processor must wake up for each stop.
    for (int round = 0; round < 100; ++round) {
        if (const auto info = pollStop(WNOHANG))
            return *info;
        ::sched_yield();
    }
    constexpr std::chrono::milliseconds betweenLooks{100};
    const bool limited = options_.longestWait.count() != 0;
    const auto end = Clock::now() + options_.longestWait;
    for (;;) {
        if (const auto info = waitStopFor(limited ? std::min(betweenLooks, options_.longestWait) : betweenLooks))
            return *info;
        // Doesn't wait for an ending thread. If it is init of a pid namespace, it waits until all other processes of
        // the namespace have been reaped, perhaps by the caller itself (zap_pid_ns_processes() of Linux).
        if (isEnding(tid_))
            throw TraceeGone(ESRCH, join("wait for thread ", tid_, ": it was ended"));
        if (look)
            look();
        if (limited && Clock::now() >= end)
            failWith(ETIMEDOUT, "wait for thread ", tid_, ": it doesn't stop");
    }
}

std::optional<StopInfo> Tracee::waitStopFor(std::chrono::nanoseconds limit) {
    Backoff backoff;
    return waitStopFor(limit, backoff);
}

std::optional<StopInfo> Tracee::waitStopFor(std::chrono::nanoseconds limit, Backoff& backoff) {
    if (stop_)
        return stop_;
    const auto end = Clock::now() + limit;
    for (;;) {
        if (const auto info = pollStop(WNOHANG))
            return info;
        if (limit.count() == 0 || Clock::now() >= end)
            return std::nullopt;
        backoff.pause();
    }
}

std::optional<pid_t> Tracee::createdByClone() const {
    if (!stop_ || stop_->kind != StopInfo::Kind::Event || stop_->event != PTRACE_EVENT_CLONE)
        return std::nullopt;
    unsigned long tid = 0;
    request("PTRACE_GETEVENTMSG", PTRACE_GETEVENTMSG, 0, addressOf(&tid));
    return static_cast<pid_t>(tid);
}

int Tracee::waitEnd() {
    for (;;) {
        stop_.reset();
        // Waits without limit, because the kernel may take long to free the memory of a large process.
        const auto info = pollStop(0).value();
        if (info.kind == StopInfo::Kind::Exited)
            return info.status;
        if (stoppedAtEnd())
            cont();
    }
}

bool Tracee::waitStopAtEnd() {
    for (;;) {
        stop_.reset();
        if (pollStop(0).value().kind == StopInfo::Kind::Exited)
            return false;
        if (stoppedAtEnd())
            return true;
    }
}

bool Tracee::stoppedAtEnd() const noexcept {
    return stop_ && stop_->kind == StopInfo::Kind::Event && stop_->event == PTRACE_EVENT_EXIT;
}

bool Tracee::hasEnded() {
    stop_.reset();
    const auto info = pollStop(WNOHANG);
    if (stoppedAtEnd())
        cont();
    return info && info->kind == StopInfo::Kind::Exited;
}

void Tracee::requeueSignal() {
    const auto atRest = [this] {
        return stop_->kind == StopInfo::Kind::Interrupted || stop_->kind == StopInfo::Kind::GroupStop;
    };
    if (!stop_ || atRest())
        return;
    // Blocks the reported signal and resumes the thread, because the kernel then puts the signal back into its queue
    // (kernel/signal.c, ptrace_signal()). Requests another interrupt in each round, because any stop uses up the
    // requested one. After the signal is blocked, the kernel takes no other signal from a queue before the requested
    // stop (get_signal()).
    std::optional<SignalMask> mask;
    while (!atRest()) {
        const int signal = stop_->kind == StopInfo::Kind::Signal ? stop_->signal : 0;
        if (signal != 0 && !mask) {
            mask = signalMask();
            setSignalMask(allSignals);
        }
        interrupt();
        cont(signal);
        if (waitStop().kind == StopInfo::Kind::Exited)
            throw TraceeGone(ESRCH, join("stop thread ", tid_));
    }
    if (mask)
        setSignalMask(*mask);
}

bool Tracee::startRequeue() {
    if (!stop_ || (stop_->kind != StopInfo::Kind::Syscall && stop_->kind != StopInfo::Kind::Event))
        return false;
    interrupt();
    cont();
    return true;
}

bool Tracee::leaveCode(std::uint64_t start, std::uint64_t end) {
    constexpr unsigned most = 4096;
    const auto isInside = [&](std::uint64_t at) { return start <= at && at < end; };
    const Registers first = registers();
    std::uint64_t at = first.ip();
    if (!isInside(at))
        return true;
    if (stop_->kind != StopInfo::Kind::Interrupted || first.inSyscall())
        return false;
    const SignalMask mask = signalMask();
    if ((mask & signalBit(SIGTRAP)) != 0)
        return false;
    // Stops before a system call, because the call may not return. Besides, rt_sigreturn(2) and rt_sigprocmask(2) would
    // change the signal mask that this function restores.
    const RemoteMemory memory(tid_);
    const auto isBeforeCall = [&] {
        auto instruction = syscallInstructionBytes;
        return memory.readSome(at, instruction) == instruction.size() && entersKernel(instruction);
    };
    setSignalMask(allSignals & ~signalBit(SIGTRAP));
    try {
        for (unsigned steps = 0; steps < most && isInside(at) && !isBeforeCall(); ++steps) {
            resume(PTRACE_SINGLESTEP, 0);
            const StopInfo info = waitStop();
            if (info.kind == StopInfo::Kind::Exited)
                throw TraceeGone(ESRCH, join("run thread ", tid_));
            if (info.kind != StopInfo::Kind::Signal || info.signal != SIGTRAP || signalInfo().si_code <= 0)
                break;  // not the signal of a step: another process has sent it
            swallowSignal();
            at = registers().ip();
        }
        requeueSignal();
    } catch (const TraceeGone&) {
        throw;
    } catch (...) {
        if (stop_)
            setSignalMask(mask);
        throw;
    }
    setSignalMask(mask);
    return !isInside(at);
}

void Tracee::resume(long number, int signal) {
    const char* const name = number == PTRACE_SYSCALL      ? "PTRACE_SYSCALL"
                             : number == PTRACE_SINGLESTEP ? "PTRACE_SINGLESTEP"
                                                           : "PTRACE_CONT";
    registers_.reset();
    request(name, number, 0, static_cast<std::uint64_t>(signal));
    state_ = State::Running;
    stop_.reset();
}

void Tracee::cont(int signal) {
    resume(PTRACE_CONT, signal);
}

void Tracee::syscallStep(int signal) {
    resume(PTRACE_SYSCALL, signal);
}

bool SleepingCall::fails(const Registers& registers) const noexcept {
    return !registers.inSyscall() && registers.syscallResult() == -EINTR && registers.ip() == ip &&
           registers.sp() == sp && hasArguments(registers, arguments, 1);
}

bool SleepingCall::repeats(const Registers& registers) const noexcept {
    return !registers.inSyscall() && registers.ip() == ip - syscallInstructionBytes.size() && registers.sp() == sp &&
           hasArguments(registers, arguments, 0);
}

/// Lets a call fail to which the thread was rewound, if the thread is about to handle a signal.
void Tracee::endRewoundCall() {
    Registers changed = registers();
    const auto status = readThreadStatus(tid_);
    if (!status || (status->pending & status->caught & ~status->blocked) == 0 || !rewound_->repeats(changed))
        return;
    changed.setIp(rewound_->ip);
    changed.setSyscallResult(-EINTR);
    setRegisters(changed);
}

void Tracee::detach(std::optional<int> signal) {
    if (rewound_)
        endRewoundCall();
    const int pending = stop_ && stop_->kind == StopInfo::Kind::Signal ? stop_->signal : 0;
    request("PTRACE_DETACH", PTRACE_DETACH, 0, static_cast<std::uint64_t>(signal.value_or(pending)));
    state_ = State::Released;
    stop_.reset();
}

void Tracee::swallowSignal() noexcept {
    if (stop_ && stop_->kind == StopInfo::Kind::Signal)
        stop_->signal = 0;
}

void Tracee::setOptions(SeizeOptions options) {
    request("PTRACE_SETOPTIONS", PTRACE_SETOPTIONS, 0, optionBits(options));
    options_ = options;
}

std::vector<std::byte> Tracee::registerSet(unsigned note) const {
    std::vector<std::byte> buffer(4096);
    for (;;) {
        iovec window{buffer.data(), buffer.size()};
        if (rawPtrace(PTRACE_GETREGSET, tid_, note, addressOf(&window)) < 0) {
            const int code = errno;
            if (code == ENODEV || code == EINVAL || code == ENXIO)
                return {};
            failRequest("PTRACE_GETREGSET", code);
        }
        if (window.iov_len < buffer.size()) {
            buffer.resize(window.iov_len);
            return buffer;
        }
        // Repeats the call with a larger buffer if the buffer is full, because the kernel cuts off data that doesn't
        // fit.
        buffer.resize(buffer.size() * 2);
    }
}

Registers Tracee::registers() const {
    if (!registers_)
        registers_ = readRegisters();
    return *registers_;
}

void Tracee::setRegisters(const Registers& registers) {
    registers_.reset();
    writeRegisters(registers);
}

SignalMask Tracee::signalMask() const {
    SignalMask mask = 0;
    request("PTRACE_GETSIGMASK", PTRACE_GETSIGMASK, sizeof(mask), addressOf(&mask));
    return mask;
}

void Tracee::setSignalMask(SignalMask mask) {
    request("PTRACE_SETSIGMASK", PTRACE_SETSIGMASK, sizeof(mask), addressOf(&mask));
}

std::vector<siginfo_t> Tracee::pendingSignals(SignalQueue queue) const {
    constexpr std::size_t batch = 32;
    std::vector<siginfo_t> found;
    for (;;) {
        const std::size_t before = found.size();
        found.resize(before + batch);
        const __ptrace_peeksiginfo_args which{
            .off = before,
            .flags = queue == SignalQueue::Process ? static_cast<std::uint32_t>(PTRACE_PEEKSIGINFO_SHARED) : 0u,
            .nr = static_cast<std::int32_t>(batch)};
        const long count =
            request("PTRACE_PEEKSIGINFO", PTRACE_PEEKSIGINFO, addressOf(&which), addressOf(found.data() + before));
        found.resize(before + static_cast<std::size_t>(count));
        if (static_cast<std::size_t>(count) < batch)
            return found;
    }
}

siginfo_t Tracee::signalInfo() const {
    siginfo_t info{};
    request("PTRACE_GETSIGINFO", PTRACE_GETSIGINFO, 0, addressOf(&info));
    return info;
}

std::optional<RseqConfiguration> Tracee::rseq() const {
    __ptrace_rseq_configuration found{};
    if (rawPtrace(PTRACE_GET_RSEQ_CONFIGURATION, tid_, sizeof(found), addressOf(&found)) < 0) {
        const int code = errno;
        if (code == EIO || code == EINVAL)
            return std::nullopt;  // the kernel is older than 5.13 or doesn't support rseq
        failRequest("PTRACE_GET_RSEQ_CONFIGURATION", code);
    }
    if (found.rseq_abi_pointer == 0)
        return std::nullopt;
    return RseqConfiguration{found.rseq_abi_pointer, found.rseq_abi_size, found.signature, found.flags};
}

bool Tracee::entersSyscall() const {
    constexpr long getSyscallInfo = 0x420e;  // PTRACE_GET_SYSCALL_INFO, <linux/ptrace.h>
    constexpr std::uint8_t entry = 1;        // PTRACE_SYSCALL_INFO_ENTRY
    std::uint8_t operation = 0;              // first byte of struct ptrace_syscall_info
    request("PTRACE_GET_SYSCALL_INFO", getSyscallInfo, sizeof(operation), addressOf(&operation));
    return operation == entry;
}

std::optional<UserDispatch> Tracee::userDispatch() const {
    UserDispatchConfiguration found{};
    if (rawPtrace(getUserDispatch, tid_, sizeof(found), addressOf(&found)) < 0) {
        const int code = errno;
        if (code == EIO || code == EINVAL)
            return std::nullopt;
        failRequest("PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG", code);
    }
    if (found.mode == 0)
        return std::nullopt;
    return UserDispatch{found.selector, found.start, found.size};
}

void Tracee::setUserDispatch(const std::optional<UserDispatch>& dispatch) {
    UserDispatchConfiguration wanted{};
    if (dispatch) {
        const DispatchRequest on = requestFor(*dispatch);
        wanted = {on.mode, dispatch->selector, on.start, on.size};
    }
    request("PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG", setUserDispatchNumber, sizeof(wanted), addressOf(&wanted));
}

std::vector<SeccompFilter> Tracee::seccompFilters() const {
    std::vector<SeccompFilter> filters;
    for (;;) {
        const auto index = static_cast<std::uint64_t>(filters.size());
        const long count = rawPtrace(PTRACE_SECCOMP_GET_FILTER, tid_, index, 0);
        if (count < 0) {
            const int code = errno;
            // EINVAL: the thread has no seccomp filters. ENOENT: the thread has no more filters.
            if (code == ENOENT || code == EINVAL)
                return filters;
            failRequest("PTRACE_SECCOMP_GET_FILTER", code);
        }
        SeccompFilter filter;
        filter.program.resize(static_cast<std::size_t>(count) * seccompInstructionSize);
        request("PTRACE_SECCOMP_GET_FILTER", PTRACE_SECCOMP_GET_FILTER, index, addressOf(filter.program.data()));
        __ptrace_seccomp_metadata about{index, 0};
        if (rawPtrace(PTRACE_SECCOMP_GET_METADATA, tid_, sizeof(about), addressOf(&about)) >= 0)
            filter.flags = about.flags;
        else if (const int code = errno; code != EIO)  // EIO: a kernel before 4.16
            failRequest("PTRACE_SECCOMP_GET_METADATA", code);
        filters.push_back(std::move(filter));
    }
}

}  // namespace compel
