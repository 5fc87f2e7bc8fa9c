// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace compel {

/// State of a stopped thread in the form of rt_sigreturn(2): registers, signal mask and extended state. A thread whose
/// tracer dies inside an injected call continues unchanged through this frame. An interrupted system call then starts
/// from the beginning: rt_sigreturn(2) drops the restart block (restore_sigcontext() of Linux).
class SignalFrame {
public:
    /// Creates a frame. Nothing if the kernel wouldn't accept one: for a thread with a shadow stack or without extended
    /// state.
    static std::optional<SignalFrame> of(const Tracee& thread, const Registers& registers, SignalMask mask);

    /// Returns the highest address below `end` at which the frame can lie.
    [[nodiscard]] RemoteAddress placeBelow(RemoteAddress end) const noexcept;
    /// Returns the bytes to write at `address`, a result of placeBelow(). `restorer` is the address of code that calls
    /// rt_sigreturn(2), or 0. A return instruction with the stack pointer at `address` jumps to it.
    [[nodiscard]] std::vector<std::byte> bytes(RemoteAddress address, RemoteAddress restorer) const;

private:
    SignalFrame(const Registers& registers, SignalMask mask, std::vector<std::byte> extended)
        : registers_(registers), mask_(mask), extended_(std::move(extended)) {}

    Registers registers_;
    SignalMask mask_;
    std::vector<std::byte> extended_;
};

}  // namespace compel
