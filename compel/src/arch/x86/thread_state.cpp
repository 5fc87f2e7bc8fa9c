// SPDX-License-Identifier: LGPL-2.1-only
// Reads and writes processor state of a thread by ptrace(2).
#include <compel/tracee.hpp>

#include <sys/ptrace.h>
#include <sys/uio.h>

#include <cerrno>

#include "../../ptrace_call.hpp"

namespace compel {

namespace {

constexpr long getThreadArea = 25;  // PTRACE_…_THREAD_AREA of asm/ptrace-abi.h
constexpr long setThreadArea = 26;

// ELF note types of linux/elf.h for PTRACE_GETREGSET: the whole extended state (NT_X86_XSTATE), and the shadow stack
// pointer (NT_X86_SHSTK, Linux 6.6).
constexpr unsigned extendedStateNote = 0x202;
constexpr unsigned shadowStackNote = 0x204;

}  // namespace

Registers Tracee::readRegisters() const {
    Registers registers;
    request("PTRACE_GETREGS", PTRACE_GETREGS, 0, addressOf(&registers.raw));
    return registers;
}

void Tracee::writeRegisters(const Registers& registers) {
    request("PTRACE_SETREGS", PTRACE_SETREGS, 0, addressOf(&registers.raw));
}

std::vector<std::byte> Tracee::extendedState(std::span<const std::byte> /*lost*/) const {
    return registerSet(extendedStateNote);
}

std::vector<std::byte> Tracee::stateLostInCalls() const {
    return {};
}

void Tracee::setExtendedState(std::span<const std::byte> state) {
    iovec window{const_cast<std::byte*>(state.data()), state.size()};
    request("PTRACE_SETREGSET", PTRACE_SETREGSET, extendedStateNote, addressOf(&window));
}

std::optional<std::uint64_t> Tracee::shadowStackPointer() const {
    std::uint64_t pointer = 0;
    iovec window{&pointer, sizeof(pointer)};
    if (rawPtrace(PTRACE_GETREGSET, tid_, shadowStackNote, addressOf(&window)) < 0) {
        const int code = errno;
        if (code == ENODEV || code == EINVAL || code == EIO)
            return std::nullopt;
        failRequest("PTRACE_GETREGSET (shadow stack)", code);
    }
    return pointer;
}

void Tracee::setShadowStackPointer(std::uint64_t pointer) {
    iovec window{&pointer, sizeof(pointer)};
    request("PTRACE_SETREGSET (shadow stack)", PTRACE_SETREGSET, shadowStackNote, addressOf(&window));
}

ThreadSegments Tracee::threadSegments() const {
    ThreadSegments segments{};
    for (unsigned i = 0; i < segments.size(); ++i)
        request("PTRACE_GET_THREAD_AREA", getThreadArea, firstThreadSegment + i, addressOf(&segments[i]));
    return segments;
}

void Tracee::setThreadSegments(const ThreadSegments& segments) {
    for (unsigned i = 0; i < segments.size(); ++i)
        request("PTRACE_SET_THREAD_AREA", setThreadArea, firstThreadSegment + i, addressOf(&segments[i]));
}

}  // namespace compel
