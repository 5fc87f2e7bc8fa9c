// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/standby.hpp>

#include <exception>

#include "fail.hpp"
#include "return_path.hpp"

namespace compel {

std::optional<Standby> Standby::place(Tracee& thread, RemoteAddress end, const std::optional<UserDispatch>& dispatch) {
    const Registers registers = thread.registers();
    const SignalMask mask = thread.signalMask();
    const SuspendedDispatch suspended(thread, dispatch);
    const auto path = ReturnPath::of(thread, registers, mask, suspended);
    if (!path)
        return std::nullopt;
    const RemoteAddress at = path->placeBelow(end);
    // The blob's own restorer uses the first frame.
    RemoteMemory(thread.tid()).write(at, path->bytes(at, 0));
    Standby standby(thread, registers, mask, at, end);
    standby.dispatch_ = suspended;
    standby.returning_ = path->entry(at);
    return standby;
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
    const std::exception_ptr failure = dispatch_.on(*thread_, returning_);
    thread_->setSignalMask(mask_);
    thread_->setRegisters(registers_);
    if (failure)
        std::rethrow_exception(failure);
}

}  // namespace compel
