// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/error.hpp>
#include <compel/registers.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/suspended_dispatch.hpp>

#include <array>
#include <cstddef>
#include <limits>

#include "syscall_instruction.hpp"

namespace compel {

namespace {

struct CodeRange {
    RemoteAddress start;
    std::uint64_t size;
};

/// Returns the code from which dispatch allows system calls at present: all code if the selector byte says so.
CodeRange allowedCode(const Tracee& thread, const UserDispatch& setting) {
    constexpr std::byte allow{0};  // SYSCALL_DISPATCH_FILTER_ALLOW of linux/prctl.h
    std::array<std::byte, 1> selector{std::byte{1}};
    if (setting.selector != 0 && RemoteMemory(thread.tid()).readSome(setting.selector, selector) == 1 &&
        selector[0] == allow)
        return {0, std::numeric_limits<RemoteAddress>::max()};
    return {setting.start, setting.size};
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
    const CodeRange allowed = allowedCode(thread, *setting_);
    if (allowed.size == 0)
        return;
    // The kernel compares the address after the instruction, also with a range that wraps around
    // (syscall_user_dispatch() of Linux).
    const auto isAllowed = [&](RemoteAddress at, std::size_t size) { return at + size - allowed.start < allowed.size; };
    const auto isUsable = [&](const SyscallInstruction& code) {
        return isAllowed(code.address, syscallInstructionBytes.size()) &&
               isAllowed(code.restorer, restorerBytes.size());
    };
    const Tracee::AllowedCode known = thread.allowedCode();
    if (known.instruction != 0) {
        code_.emplace(known.instruction, known.restorer);
        if (isUsable(*code_) && hasSyscallInstruction(thread.tid(), *code_))
            return;
    } else if (known.start == allowed.start && known.size == allowed.size) {
        return;
    }
    code_ = findReturningInstruction(thread.tid(), {allowed.start, allowed.start + allowed.size});
    if (code_ && !isUsable(*code_))
        code_.reset();
    thread.setAllowedCode({allowed.start, allowed.size, code_ ? code_->address : 0, code_ ? code_->restorer : 0});
}

void SuspendedDispatch::off(Tracee& thread, const std::optional<Registers>& returning, SignalMask mask) const {
    if (!setting_)
        return;
    if (returning) {
        thread.setRegisters(*returning);
        thread.setSignalMask(mask);
    }
    thread.setUserDispatch(std::nullopt);
}

std::exception_ptr SuspendedDispatch::on(Tracee& thread, const std::optional<Registers>& returning) const {
    if (!setting_)
        return nullptr;
    try {
        if (returning)
            thread.setRegisters(*returning);
        thread.setUserDispatch(setting_);
    } catch (const Error&) {
        return std::current_exception();
    }
    return nullptr;
}

}  // namespace compel
