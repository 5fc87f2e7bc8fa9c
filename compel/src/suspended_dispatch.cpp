// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/registers.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/suspended_dispatch.hpp>

#include <array>
#include <cstddef>
#include <limits>

#include "syscall_instruction.hpp"

namespace compel {

namespace {

/// Returns the code from which dispatch allows system calls at present: all code if the selector byte says so.
MemoryBounds allowedCode(const Tracee& thread, const UserDispatch& setting) {
    constexpr std::byte allow{0};  // SYSCALL_DISPATCH_FILTER_ALLOW of linux/prctl.h
    std::array<std::byte, 1> selector{std::byte{1}};
    if (setting.selector != 0 && RemoteMemory(thread.tid()).readSome(setting.selector, selector) == 1 &&
        selector[0] == allow)
        return {0, std::numeric_limits<RemoteAddress>::max()};
    return {setting.start, setting.start + setting.size};
}

}  // namespace

SuspendedDispatch::SuspendedDispatch(Tracee& thread) : setting_(thread.userDispatch()) {
    // The kernel kills a thread with `killOnExit` when the tracer dies.
    if (!thread.options().killOnExit)
        findCode(thread);
}

SuspendedDispatch::SuspendedDispatch(Tracee& thread, const std::optional<UserDispatch>& setting) : setting_(setting) {
    findCode(thread);
}

void SuspendedDispatch::findCode(Tracee& thread) {
    if (!setting_ || !Registers::hasStatelessFrames)
        return;
    const MemoryBounds bounds = allowedCode(thread, *setting_);
    // The kernel compares the address after the instruction (syscall_user_dispatch() of Linux).
    const auto isAllowed = [&](RemoteAddress at, std::size_t size) {
        return bounds.start <= at && at < bounds.end && size < bounds.end - at;
    };
    const auto isUsable = [&](const SyscallInstruction& code) {
        return isAllowed(code.address, syscallInstructionBytes.size()) &&
               isAllowed(code.restorer, restorerBytes.size());
    };
    const Tracee::AllowedCode known = thread.allowedCode();
    code_.emplace(known.instruction, known.restorer);
    if (isUsable(*code_) && hasSyscallInstruction(thread.tid(), *code_))
        return;
    code_ = findReturningInstruction(thread.tid(), bounds);
    if (code_ && !isUsable(*code_))
        code_.reset();
    if (code_)
        thread.setAllowedCode({code_->address, code_->restorer});
}

}  // namespace compel
