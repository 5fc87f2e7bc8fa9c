// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <exception>
#include <optional>

namespace compel {

/// Syscall user dispatch of a stopped thread that makes system calls for its tracer. The tracer switches dispatch off
/// for this time, because the kernel would raise SIGSYS for the calls.
///
/// If the tracer dies, the thread itself switches dispatch on again. It needs code for this from which dispatch allows
/// system calls, because it then returns to its own code by rt_sigreturn(2).
class SuspendedDispatch {
public:
    /// For a thread without dispatch.
    SuspendedDispatch() = default;
    /// For the thread's present setting. Throws Error.
    explicit SuspendedDispatch(Tracee& thread);
    /// For a setting that the thread has after its system calls. Throws Error.
    SuspendedDispatch(Tracee& thread, const std::optional<UserDispatch>& setting);

    /// Returns the setting after the calls; nothing if dispatch is off.
    [[nodiscard]] const std::optional<UserDispatch>& setting() const noexcept { return setting_; }
    /// Returns the code of the process by which the thread can switch dispatch on; nothing if it has none.
    [[nodiscard]] const std::optional<SyscallInstruction>& code() const noexcept { return code_; }

    /// Switches dispatch off. Before, gives the thread the registers `returning` and the signal mask `mask`, so that
    /// the thread switches dispatch on again if the tracer dies. `returning`: ReturnPath::entry(). Throws Error.
    void off(Tracee& thread, const std::optional<Registers>& returning, SignalMask mask) const;
    /// Switches dispatch on again. Returns an Error instead of throwing it, because the caller must also restore the
    /// registers and the mask of the thread. Example of an error: EINVAL for a wrong setting of an image.
    [[nodiscard]] std::exception_ptr on(Tracee& thread, const std::optional<Registers>& returning) const;

private:
    void findCode(Tracee& thread);

    std::optional<UserDispatch> setting_;
    std::optional<SyscallInstruction> code_;
};

}  // namespace compel
