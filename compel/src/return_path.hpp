// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/remote_memory.hpp>
#include <compel/suspended_dispatch.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "signal_frame.hpp"

namespace compel {

/// Path by which a stopped thread continues if its tracer dies: a signal frame with its state. For a thread with
/// syscall user dispatch, another frame comes before, with the registers of a system call that switches dispatch on.
/// The return instruction after this call jumps to the restorer, which uses the second frame.
class ReturnPath {
public:
    /// Makes a path. Returns nothing for a thread for which SignalFrame::of() returns nothing. `registers`, `mask`:
    /// state with which the thread continues.
    static std::optional<ReturnPath> of(const Tracee& thread, const Registers& registers, SignalMask mask,
                                        const SuspendedDispatch& dispatch);

    /// Returns the highest possible address of a path that ends at or below `end`.
    [[nodiscard]] RemoteAddress placeBelow(RemoteAddress end) const noexcept;
    /// Returns the bytes of the path for the address `address`, which is a result of placeBelow(). `restorer`: see
    /// SignalFrame::bytes().
    [[nodiscard]] std::vector<std::byte> bytes(RemoteAddress address, RemoteAddress restorer) const;
    /// Returns registers with which the thread takes the path at once, with any setting of dispatch. Returns nothing
    /// for a thread without dispatch, or without code for it (SuspendedDispatch::code()).
    [[nodiscard]] std::optional<Registers> entry(RemoteAddress address) const;

private:
    ReturnPath(SignalFrame last, const SuspendedDispatch& dispatch) : last_(std::move(last)), dispatch_(dispatch) {}

    [[nodiscard]] bool hasTwoFrames() const noexcept { return dispatch_.setting() && dispatch_.code(); }
    [[nodiscard]] SignalFrame first(RemoteAddress last) const;

    SignalFrame last_;
    SuspendedDispatch dispatch_;
};

}  // namespace compel
