// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/remote_syscalls.hpp>
#include <compel/rseq.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "compat_calls.hpp"
#include "fail.hpp"
#include "memory_limits.hpp"
#include "proc.hpp"
#include "restart_codes.hpp"
#include "return_path.hpp"

namespace compel {

namespace {

/// Returns the address of free memory below 4 GiB, for 32-bit code. Chooses the middle of the largest gap: it is far
/// from heap and stack, which grow.
RemoteAddress findRoomFor32BitCode(pid_t pid, std::uint64_t size) {
    constexpr RemoteAddress lowest = 0x100000;
    constexpr RemoteAddress limit = 0xffffe000;  // end of a 32-bit process' memory
    constexpr std::uint64_t pageMask = 4095;
    RemoteAddress best = 0;
    std::uint64_t room = 0;
    const auto consider = [&](RemoteAddress start, RemoteAddress end) {
        if (start < end && end - start > room) {
            best = start;
            room = end - start;
        }
    };
    RemoteAddress at = lowest;
    visitMappings(pid, [&](const MemoryRange& range) {
        consider(at, std::min(range.start, limit));
        at = std::max(at, range.end);
        return at < limit;
    });
    consider(at, limit);
    if (room < size)
        fail("thread ", pid, ": no room of ", size, " bytes in the first 4 GiB of its memory");
    return (best + (room - size) / 2) & ~pageMask;
}

}  // namespace

RemoteSyscalls::RemoteSyscalls(Tracee& tracee, std::optional<SyscallInstruction> instruction)
    : tracee_(tracee), memory_(tracee.tid()) {
    // Reads the registers afterwards, because some kernels show them differently in a Syscall stop.
    tracee_.requeueSignal();
    saved_ = tracee_.registers();
    fixRseqIp(tracee_, memory_, saved_);
    if (!instruction)
        instruction = findSyscallInstruction(tracee.tid());
    if (instruction) {
        instruction_ = instruction->address;
        restorer_ = instruction->restorer;
    } else {
        pokeInstruction();
    }
    savedMask_ = tracee_.signalMask();
    if (restorer_ == 0 && !tracee_.options().killOnExit)
        if (auto compat = CompatCalls::of(tracee_, saved_, savedMask_))
            compat_ = std::make_unique<const CompatCalls>(*std::move(compat));
    lostState_ = tracee_.stateLostInCalls();
    dispatch_ = SuspendedDispatch(tracee_);
}

RemoteSyscalls::~RemoteSyscalls() {
    try {
        restore();
    } catch (const std::exception&) {
        // Ignored: the thread has ended, or the kernel doesn't accept its syscall user dispatch any more.
        return;
    }
}

void RemoteSyscalls::pokeInstruction() {
    visitMappings(tracee_.tid(), [&](const MemoryRange& range) {
        if (!range.executable || range.name == "[vsyscall]")
            return true;
        try {
            memory_.read(range.start, overwritten_);
            memory_.write(range.start, syscallInstructionBytes);
        } catch (const TraceeGone&) {
            throw;
        } catch (const Error&) {
            return true;
        }
        instruction_ = range.start;
        poked_ = true;
        return false;
    });
    if (!poked_)
        fail("thread ", tracee_.tid(), ": its process has no executable memory to run a system call from");
}

/// Writes the signal frame to the thread's stack. Does nothing for a thread with `killOnExit`, because the kernel kills
/// it when the tracer ends.
void RemoteSyscalls::placeFrame() {
    if ((restorer_ == 0 && !compat_) || tracee_.options().killOnExit)
        return;
    const RemoteAddress end = saved_.sp() - Registers::belowStack;
    RemoteAddress at = 0;
    std::vector<std::byte> bytes;
    std::optional<Registers> returning;
    if (compat_) {
        at = compat_->placeBelow(end);
        bytes = compat_->frame(at);
    } else if (const auto path = ReturnPath::of(tracee_, saved_, savedMask_, dispatch_)) {
        at = path->placeBelow(end);
        bytes = path->bytes(at, restorer_);
        returning = path->entry(at);
    } else {
        return;
    }
    std::vector<std::byte> covered(bytes.size());
    if (memory_.readSome(at, covered) < covered.size())
        return;
    // Sets `frame_` before the write, so that restore() also removes a frame that is only partly written.
    frame_ = at;
    belowStack_ = std::move(covered);
    if (memory_.writeAllowed(at, bytes) < bytes.size())
        takeFrameAway();
    else
        returning_ = returning;
}

void RemoteSyscalls::takeFrameAway() {
    if (frame_ != 0)
        (void)memory_.writeAllowed(std::exchange(frame_, 0), belowStack_);
}

void RemoteSyscalls::goToSyscallStop() {
    moved_ = true;
    tracee_.syscallStep();
}

void RemoteSyscalls::awaitSyscallStop() {
    for (;;) {
        const auto stop = tracee_.waitStop();
        int signal = 0;
        switch (stop.kind) {
            case StopInfo::Kind::Syscall:
                return;
            case StopInfo::Kind::Exited:
                throw TraceeGone(ESRCH, join("thread ", tracee_.tid(), " in a system call of its tracer"));
            case StopInfo::Kind::Signal:
                // The signal is SIGSTOP or a fault, because all other signals are blocked. SIGSTOP makes a group-stop,
                // and the tracer can resume the thread from it. A fault means that another process has removed the
                // instruction.
                if (stop.signal != SIGSTOP) {
                    tracee_.swallowSignal();
                    if (stop.signal == SIGSYS)
                        fail("thread ", tracee_.tid(),
                             ": its system calls become signals (by syscall user dispatch, which others can suspend "
                             "since Linux 6.4, or by a seccomp filter)");
                    fail("thread ", tracee_.tid(), " got signal ", stop.signal, " at the system call instruction at ",
                         Hex{instruction_});
                }
                signal = stop.signal;
                break;
            case StopInfo::Kind::Interrupted:
            case StopInfo::Kind::GroupStop:
            case StopInfo::Kind::Event:
                break;
        }
        tracee_.syscallStep(signal);
    }
}

void RemoteSyscalls::startCall(std::int64_t number, const SyscallArguments& arguments) {
    if (restored_ || requeues_)
        fail("system call in thread ", tracee_.tid(), " whose registers have been restored already");
    number_ = number;
    arguments_ = arguments;
    // If the tracer dies between two steps, the thread must be able to return through the signal frame. So this sets
    // the registers before the signal mask, and restore() sets the mask before the registers.
    const bool isFirst = !std::exchange(begun_, true);
    if (isFirst) {
        placeFrame();
        dispatch_.off(tracee_, returning_, allSignals);
    }
    Registers registers = saved_;
    if (compat_ && frame_ != 0 && CompatCalls::knows(number))
        compat_->set(registers, number, arguments, frame_);
    else
        registers.setCall(number, arguments, instruction_);
    if (!compat_ && frame_ != 0)
        registers.setReturnFrame(frame_, restorer_);
    tracee_.setRegisters(registers);
    if (isFirst)
        tracee_.setSignalMask(allSignals);
    goToSyscallStop();
}

void RemoteSyscalls::passEntry() {
    awaitSyscallStop();
    atEntry_ = true;
    goToSyscallStop();
}

std::int64_t RemoteSyscalls::finishCall() {
    for (;;) {
        awaitSyscallStop();
        atEntry_ = false;
        const auto result = tracee_.registers().syscallResult();
        if (result == restartByBlock)
            return -EINTR;
        if (result < restartNoHandler || result > restartByAction)
            return result;
        startCall(number_, SyscallArguments(arguments_));
        passEntry();
    }
}

std::int64_t RemoteSyscalls::call(std::int64_t number, const SyscallArguments& arguments) {
    startCall(number, arguments);
    passEntry();
    return finishCall();
}

std::uint64_t RemoteSyscalls::checkedCall(const char* what, std::int64_t number, const SyscallArguments& arguments) {
    const auto result = call(number, arguments);
    if (isSyscallError(result))
        failWith(static_cast<int>(-result), what, " in thread ", tracee_.tid());
    return static_cast<std::uint64_t>(result);
}

RemoteAddress RemoteSyscalls::mmap(RemoteAddress hint, std::uint64_t size, int protection, int flags, int fd,
                                   std::uint64_t offset) {
    if (hint == 0 && !saved_.isNative()) {
        // Without a hint, the kernel would choose an address for 64-bit code and then refuse it for a 32-bit process.
        hint = findRoomFor32BitCode(tracee_.tid(), size);
        flags |= MAP_FIXED_NOREPLACE;
    }
    const auto result = call(SYS_mmap, {hint, size, static_cast<std::uint64_t>(protection),
                                        static_cast<std::uint64_t>(flags), static_cast<std::uint64_t>(fd), offset});
    if (!isSyscallError(result))
        return static_cast<RemoteAddress>(result);
    const auto code = static_cast<int>(-result);
    Error error(code, join("mmap in thread ", tracee_.tid()));
    const bool isData = (flags & MAP_PRIVATE) != 0 && (protection & PROT_WRITE) != 0;
    if (const auto limit = limitOfMemory(tracee_.tid(), size, isData, code); !limit.empty())
        error.addHint(limit);
    throw error;
}

RemoteAddress RemoteSyscalls::mmapScratch(std::uint64_t size, RemoteAddress at) {
    const int flags = MAP_ANONYMOUS | (at == 0 ? 0 : MAP_FIXED);
    try {
        return mmap(at, size, PROT_READ | PROT_WRITE, flags | MAP_PRIVATE);
    } catch (const TraceeGone&) {
        throw;
    } catch (const Error& error) {
        if (error.code() != ENOMEM)
            throw;
        // RLIMIT_DATA limits only private memory (is_data_mapping() in mm/mmap.c).
        return mmap(at, size, PROT_READ | PROT_WRITE, flags | MAP_SHARED);
    }
}

void RemoteSyscalls::munmap(RemoteAddress address, std::uint64_t size) {
    checkedCall("munmap", SYS_munmap, {address, size});
}

void RemoteSyscalls::mprotect(RemoteAddress address, std::uint64_t size, int protection) {
    checkedCall("mprotect", SYS_mprotect, {address, size, static_cast<std::uint64_t>(protection)});
}

void RemoteSyscalls::startRestore() {
    if (restored_ || !moved_ || atEntry_ || !tracee_.stopped())
        return;
    requeues_ = tracee_.startRequeue();
}

void RemoteSyscalls::restore() {
    if (std::exchange(restored_, true) || tracee_.released())
        return;
    if (std::exchange(requeues_, false) && tracee_.waitStop().kind == StopInfo::Kind::Exited)
        return;
    if (!tracee_.stopped()) {
        // The call hasn't ended in time, because another process has changed the code. So stops the thread.
        constexpr std::chrono::seconds patience(2);
        tracee_.interrupt();
        const auto stop = tracee_.waitStopFor(patience);
        if (!stop || tracee_.released())
            return;
        if (stop->kind == StopInfo::Kind::Syscall)
            atEntry_ = !atEntry_;
    }
    if (atEntry_ && tracee_.stopped()) {
        // The thread is at the entry of a system call. Clears the number of the call, because the kernel then skips the
        // call.
        auto registers = tracee_.registers();
        registers.leaveSyscall();
        tracee_.setRegisters(registers);
        goToSyscallStop();
        awaitSyscallStop();
    }
    // Makes the thread stop in the kernel's signal handling, with its original registers. The kernel restarts an
    // interrupted system call only when a thread leaves signal handling.
    if (moved_)
        tracee_.requeueSignal();
    if (poked_)
        memory_.write(instruction_, overwritten_);
    if (!begun_)
        return;
    // Comes before the registers: if the tracer died between both, the signal frame would set this state, too.
    if (!lostState_.empty())
        tracee_.setExtendedState(lostState_);
    const std::exception_ptr failure = dispatch_.on(tracee_, returning_);
    tracee_.setSignalMask(savedMask_);
    tracee_.setRegisters(saved_);
    takeFrameAway();
    if (failure)
        std::rethrow_exception(failure);
}

RemoteBuffer::RemoteBuffer(RemoteSyscalls& syscalls, std::uint64_t size)
    : syscalls_(syscalls), address_(syscalls.mmapScratch(size)), size_(size) {}

RemoteBuffer::~RemoteBuffer() {
    try {
        syscalls_.munmap(address_, size_);
    } catch (const std::exception&) {
        // Ignored: the thread has ended, and the kernel has freed its memory.
        return;
    }
}

}  // namespace compel
