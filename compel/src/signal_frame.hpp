// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace compel {

/// State of a stopped thread in the form in which rt_sigreturn(2) gives it back: registers, signal mask and extended
/// state. A thread whose tracer dies in the middle of an injected call goes on through it, as if nothing had happened.
/// An interrupted system call begins anew then: rt_sigreturn(2) drops the restart block (restore_sigcontext() of
/// Linux).
class SignalFrame {
public:
    /// Nothing where the kernel wouldn't take a frame: from a thread with a shadow stack, or without extended state.
    static std::optional<SignalFrame> of(const Tracee& thread, const Registers& registers, SignalMask mask);

    /// The highest address below `end` at which the frame can lie.
    [[nodiscard]] RemoteAddress placeBelow(RemoteAddress end) const noexcept;
    /// What is to lie at `address`, a result of placeBelow(). `restorer`: code that calls rt_sigreturn(2), which a
    /// return instruction with the stack pointer at `address` jumps to; 0: there is none.
    [[nodiscard]] std::vector<std::byte> bytes(RemoteAddress address, RemoteAddress restorer) const;

private:
    SignalFrame(const Registers& registers, SignalMask mask, std::vector<std::byte> extended)
        : registers_(registers), mask_(mask), extended_(std::move(extended)) {}

    Registers registers_;
    SignalMask mask_;
    std::vector<std::byte> extended_;
};

}  // namespace compel
