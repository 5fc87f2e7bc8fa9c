// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/standby.hpp>

#include "fail.hpp"
#include "signal_frame.hpp"

namespace compel {

std::optional<Standby> Standby::place(Tracee& thread, RemoteAddress end) {
    const Registers registers = thread.registers();
    const SignalMask mask = thread.signalMask();
    const auto frame = SignalFrame::of(thread, registers, mask);
    if (!frame)
        return std::nullopt;
    const RemoteAddress at = frame->placeBelow(end);
    RemoteMemory(thread.tid()).write(at, frame->bytes(at, 0));
    return Standby(thread, registers, mask, at, end);
}

void Standby::enter(RemoteAddress entry, std::uint64_t argument, RemoteAddress stackTop) {
    if (frame_ < stackTop && stackTop <= end_)
        fail("the stack of thread ", thread_->tid(), " would grow into its signal frame");
    constexpr int noEndSignal = 0;
    Registers registers = registers_;
    registers.setEntry(entry, argument, stackTop, noEndSignal, frame_);
    // Sets the registers before the mask, as leave() does in the other order.
    thread_->setRegisters(registers);
    thread_->setSignalMask(allSignals);
    // Comes last: until then, the kernel kills a thread with `killOnExit` when the tracer ends.
    SeizeOptions options = thread_->options();
    options.killOnExit = false;
    thread_->setOptions(options);
}

void Standby::leave() {
    // Sets the mask before the registers: if the tracer ended between both calls, the thread would execute the blob.
    // In the other order, it would execute its own code with all signals blocked.
    thread_->setSignalMask(mask_);
    thread_->setRegisters(registers_);
}

}  // namespace compel
