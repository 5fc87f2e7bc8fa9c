// SPDX-License-Identifier: LGPL-2.1-only
// Tracers refuse AArch32 tasks, so no thread has such calls.
#include "../../compat_calls.hpp"

namespace compel {

std::optional<CompatCalls> CompatCalls::of(const Tracee& /*thread*/, const Registers& /*registers*/,
                                           SignalMask /*mask*/) {
    return std::nullopt;
}

bool CompatCalls::knows(std::int64_t /*number*/) noexcept {
    return false;
}

RemoteAddress CompatCalls::placeBelow(RemoteAddress end) const noexcept {
    return saved_.placeBelow(end);
}

std::vector<std::byte> CompatCalls::frame(RemoteAddress address) const {
    return saved_.bytes(address, restorer_);
}

void CompatCalls::set(Registers& registers, std::int64_t number, const SyscallArguments& arguments,
                      RemoteAddress frame) const {
    registers.setCall(number, arguments, entry_);
    registers.setReturnFrame(frame, restorer_);
}

}  // namespace compel
