// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace compel {

/// Registers, signal mask and extended state of a stopped thread, as a signal frame for rt_sigreturn(2). If the tracer
/// dies during an injected call, the thread continues unchanged by this frame. An interrupted system call then starts
/// from the beginning, because rt_sigreturn(2) drops the restart block (restore_sigcontext() of Linux). The call fails
/// with EINTR instead if Tracee::callEndsWithTracer() says so.
class SignalFrame {
public:
    /// Makes a frame. Returns nothing for a thread with a shadow stack or without extended state, because the kernel
    /// wouldn't accept the frame.
    static std::optional<SignalFrame> of(const Tracee& thread, const Registers& registers, SignalMask mask);
    /// Makes a frame that resets the extended state. Only on processors with `hasStatelessFrames`.
    static SignalFrame withoutState(const Registers& registers, SignalMask mask) { return {registers, mask, {}}; }
    /// Size in bytes of such a frame. Frames of this size can follow each other.
    static constexpr std::size_t statelessSize = 320;
    /// Returns the highest address of such a frame that ends at or below `end`.
    [[nodiscard]] static RemoteAddress placeStatelessBelow(RemoteAddress end) noexcept {
        return (end - statelessSize) & ~RemoteAddress{63};
    }

    /// Returns the highest possible address of a frame that ends at or below `end`.
    [[nodiscard]] RemoteAddress placeBelow(RemoteAddress end) const noexcept;
    /// Returns the bytes of the frame for the address `address`, which is a result of placeBelow(). `restorer`: address
    /// of code that calls rt_sigreturn(2), or 0. If the stack pointer is `address`, a return instruction jumps to the
    /// restorer.
    [[nodiscard]] std::vector<std::byte> bytes(RemoteAddress address, RemoteAddress restorer) const;

    [[nodiscard]] const Registers& registers() const noexcept { return registers_; }
    [[nodiscard]] SignalMask mask() const noexcept { return mask_; }
    /// Returns the extended state in the form that follows the frame of 64-bit code.
    [[nodiscard]] const std::vector<std::byte>& extended() const noexcept { return extended_; }

private:
    SignalFrame(const Registers& registers, SignalMask mask, std::vector<std::byte> extended)
        : registers_(registers), mask_(mask), extended_(std::move(extended)) {}

    Registers registers_;
    SignalMask mask_;
    std::vector<std::byte> extended_;
};

}  // namespace compel
