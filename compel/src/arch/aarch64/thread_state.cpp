// SPDX-License-Identifier: LGPL-2.1-only
// Reads and writes processor state of a thread by ptrace(2).
#include <compel/tracee.hpp>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "../../fail.hpp"
#include "../../ptrace_call.hpp"

namespace compel {

namespace {

constexpr std::size_t generalSize = offsetof(GeneralRegisters, syscall);
/// Size of the set NT_PRSTATUS of 32-bit code: 18 words (compat_elf_gregset_t of Linux).
constexpr std::size_t compatSize = 72;
constexpr unsigned systemCallNote = 0x404;  // NT_ARM_SYSTEM_CALL

/// Register sets of an extended state, in the order in which they are written. FloatingPointSet precedes ScalableSet,
/// which also has the vector length.
constexpr std::array extendedSets{FloatingPointSet, ScalableSet,    ThreadPointerSet, AddressKeysSet,
                                  GenericKeySet,    EnabledKeysSet, TaggedAddressSet};

/// Takes the program counter and the stack pointer from the registers of 32-bit code.
Registers ofCompat(std::span<const std::uint32_t> words) {
    Registers registers;
    registers.raw.sp = words[13];
    registers.raw.pc = words[15];
    registers.raw.pstate = words[16] | Registers::mode32;
    return registers;
}

}  // namespace

Registers Tracee::readRegisters() const {
    Registers registers;
    iovec general{&registers.raw, generalSize};
    request("PTRACE_GETREGSET", PTRACE_GETREGSET, NT_PRSTATUS, addressOf(&general));
    if (general.iov_len == compatSize) {
        std::array<std::uint32_t, compatSize / sizeof(std::uint32_t)> words{};
        std::memcpy(words.data(), &registers.raw, sizeof(words));
        return ofCompat(words);
    }
    int number = -1;
    iovec call{&number, sizeof(number)};
    request("PTRACE_GETREGSET (system call)", PTRACE_GETREGSET, systemCallNote, addressOf(&call));
    registers.raw.syscall = number;
    return registers;
}

void Tracee::writeRegisters(const Registers& registers) {
    if (!registers.isNative())
        fail("thread ", tid_, " runs 32-bit code (AArch32), whose registers can't be set");
    Registers copy = registers;
    iovec general{&copy.raw, generalSize};
    request("PTRACE_SETREGSET", PTRACE_SETREGSET, NT_PRSTATUS, addressOf(&general));
    auto number = static_cast<int>(registers.raw.syscall);
    iovec call{&number, sizeof(number)};
    request("PTRACE_SETREGSET (system call)", PTRACE_SETREGSET, systemCallNote, addressOf(&call));
}

std::vector<std::byte> Tracee::extendedState(std::span<const std::byte> lost) const {
    std::vector<std::byte> state;
    for (const unsigned set : extendedSets) {
        if (const auto earlier = registerSetOf(lost, set); !earlier.empty())
            addRegisterSet(state, set, earlier);
        else if (const std::vector<std::byte> content = registerSet(set); !content.empty())
            addRegisterSet(state, set, content);
    }
    return state;
}

std::vector<std::byte> Tracee::stateLostInCalls() const {
    // Asks for the header only, because most threads don't use SVE registers.
    ScalableHeader header{};
    iovec window{&header, sizeof(header)};
    std::vector<std::byte> state;
    if (rawPtrace(PTRACE_GETREGSET, tid_, ScalableSet, addressOf(&window)) < 0) {
        const int code = errno;
        if (code == EINVAL || code == ENODEV || code == EIO)
            return state;
        failRequest("PTRACE_GETREGSET (SVE)", code);
    }
    if (header.hasScalable())
        addRegisterSet(state, ScalableSet, registerSet(ScalableSet));
    return state;
}

void Tracee::setExtendedState(std::span<const std::byte> state) {
    const auto set = [this](std::uint32_t number, std::span<const std::byte> content) {
        iovec window{const_cast<std::byte*>(content.data()), content.size()};
        request("PTRACE_SETREGSET (extended state)", PTRACE_SETREGSET, number, addressOf(&window));
    };
    if (!visitRegisterSets(state, set))
        fail("thread ", tid_, ": an extended state of ", state.size(), " bytes is incomplete");
}

std::optional<std::uint64_t> Tracee::shadowStackPointer() const {
    // The dump refuses a guarded control stack (criu/task/arch).
    return std::nullopt;
}

void Tracee::setShadowStackPointer(std::uint64_t /*pointer*/) {
    fail("thread ", tid_, ": this processor's shadow stack can't be set");
}

ThreadSegments Tracee::threadSegments() const {
    return {};
}

void Tracee::setThreadSegments(const ThreadSegments& /*segments*/) {}

}  // namespace compel
