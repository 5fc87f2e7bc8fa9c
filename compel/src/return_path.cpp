// SPDX-License-Identifier: LGPL-2.1-only
#include <sys/syscall.h>

#include "return_path.hpp"
#include "user_dispatch.hpp"

namespace compel {

namespace {

constexpr std::uint64_t setDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH of linux/prctl.h, Linux 5.11

}  // namespace

std::optional<ReturnPath> ReturnPath::of(const Tracee& thread, const Registers& registers, SignalMask mask,
                                         const SuspendedDispatch& dispatch) {
    auto last = SignalFrame::of(thread, registers, mask);
    if (!last)
        return std::nullopt;
    return ReturnPath(*std::move(last), dispatch);
}

/// Returns the frame of the system call that switches dispatch on. `last`: address of the frame after it.
SignalFrame ReturnPath::first(RemoteAddress last) const {
    const UserDispatch& setting = *dispatch_.setting();
    const DispatchRequest on = requestFor(setting);
    const SyscallInstruction& code = *dispatch_.code();
    Registers registers = last_.registers();
    registers.setCall(SYS_prctl, {setDispatch, on.mode, on.start, on.size, setting.selector}, code.address);
    registers.setReturnFrame(last, code.restorer);
    return SignalFrame::withoutState(registers, allSignals);
}

RemoteAddress ReturnPath::placeBelow(RemoteAddress end) const noexcept {
    const RemoteAddress last = last_.placeBelow(end);
    return hasTwoFrames() ? SignalFrame::placeStatelessBelow(last) : last;
}

std::vector<std::byte> ReturnPath::bytes(RemoteAddress address, RemoteAddress restorer) const {
    if (!hasTwoFrames())
        return last_.bytes(address, restorer);
    const RemoteAddress last = address + SignalFrame::statelessSize;
    std::vector<std::byte> all = first(last).bytes(address, restorer);
    all.resize(SignalFrame::statelessSize);
    const std::vector<std::byte> rest = last_.bytes(last, dispatch_.code()->restorer);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
}

std::optional<Registers> ReturnPath::entry(RemoteAddress address) const {
    if (!hasTwoFrames())
        return std::nullopt;
    Registers registers = last_.registers();
    registers.takeFrame(address, dispatch_.code()->restorer);
    return registers;
}

}  // namespace compel
