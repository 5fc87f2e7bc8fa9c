// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "signal_frame.hpp"

namespace compel {

/// System calls of a stopped 32-bit thread by the 32-bit entry code in the process' vDSO. If the tracer dies, this code
/// returns to the restorer of the vDSO, and the thread continues by a 32-bit signal frame.
class CompatCalls {
public:
    /// Finds the code in the vDSO. Returns nothing for a thread that runs 64-bit code, if the process has no 32-bit
    /// vDSO, or if the kernel wouldn't accept a frame. `registers`, `mask`: state with which the thread continues.
    static std::optional<CompatCalls> of(const Tracee& thread, const Registers& registers, SignalMask mask);

    /// Returns true if set() can make the call `number`, a number of the 64-bit interface.
    [[nodiscard]] static bool knows(std::int64_t number) noexcept;

    /// Returns the highest possible address of a frame that ends at or below `end`.
    [[nodiscard]] RemoteAddress placeBelow(RemoteAddress end) const noexcept;
    /// Returns the bytes of the frame for the address `address`, which is a result of placeBelow().
    [[nodiscard]] std::vector<std::byte> frame(RemoteAddress address) const;

    /// Sets the registers for a call that knows() accepts. `frame`: address of the frame in the thread's stack.
    void set(Registers& registers, std::int64_t number, const SyscallArguments& arguments, RemoteAddress frame) const;

private:
    CompatCalls(SignalFrame saved, RemoteAddress entry, RemoteAddress restorer)
        : saved_(std::move(saved)), entry_(entry), restorer_(restorer) {}

    SignalFrame saved_;
    RemoteAddress entry_;     ///< address of a system call instruction, before instructions that pop three registers
    RemoteAddress restorer_;  ///< address of code that calls rt_sigreturn(2)
};

}  // namespace compel
