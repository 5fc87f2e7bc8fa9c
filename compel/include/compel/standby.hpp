// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/remote_memory.hpp>
#include <compel/suspended_dispatch.hpp>
#include <compel/tracee.hpp>

#include <optional>

namespace compel {

/// State of a stopped thread that must continue even if the tracer ends.
///
/// In stand-by, the thread has the registers of a blob's entry, and all signals are blocked. If the tracer ends, the
/// thread executes the blob, which decides whether the thread continues. When the blob returns, or calls
/// rt_sigreturn(2) itself, the signal frame restores the registers, the extended state and the signal mask that the
/// thread had at the call of place().
class Standby {
public:
    /// Writes the signal frame below `end` in the thread's memory; it needs signalFrameRoom() bytes. Returns nothing
    /// for a thread with a shadow stack, because the kernel wouldn't accept the frame. Throws Error. `thread` must
    /// outlive the object.
    /// `dispatch`: syscall user dispatch that the thread has after the stand-by. It must be off until then.
    static std::optional<Standby> place(Tracee& thread, RemoteAddress end,
                                        const std::optional<UserDispatch>& dispatch = std::nullopt);

    /// Returns the address of the signal frame.
    [[nodiscard]] RemoteAddress frame() const noexcept { return frame_; }
    [[nodiscard]] Tracee& thread() const noexcept { return *thread_; }

    /// Begins the stand-by. The blob starts at `entry` with `argument`. `stackTop`: end of the blob's stack. Below the
    /// stack, signalFrameRoom() bytes must be free: a later tracer may place another signal frame there. Also makes the
    /// kernel resume the thread when the tracer ends. Throws Error, also if the stack would grow into the signal frame.
    void enter(RemoteAddress entry, std::uint64_t argument, RemoteAddress stackTop);
    /// Ends the stand-by: the thread has its own registers and signal mask again, and syscall user dispatch. Throws
    /// Error; if only the setting of dispatch fails, the thread has all the rest.
    void leave();

private:
    Standby(Tracee& thread, const Registers& registers, SignalMask mask, RemoteAddress frame, RemoteAddress end)
        : thread_(&thread), registers_(registers), mask_(mask), frame_(frame), end_(end) {}

    Tracee* thread_;
    Registers registers_;
    SignalMask mask_;
    RemoteAddress frame_;
    SuspendedDispatch dispatch_;
    std::optional<Registers> returning_;  ///< ReturnPath::entry() of the frame
    RemoteAddress end_;                   ///< end of the memory of the signal frame
};

}  // namespace compel
