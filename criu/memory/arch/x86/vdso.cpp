// SPDX-License-Identifier: GPL-2.0-only
#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "criu/memory/vdso/compat_vdso.hpp"
#include "criu/memory/vdso/vdso_proxy.hpp"
#include "images/core.hpp"

namespace criu::memory {
namespace {

/// Machine code of ENDBR64. With indirect branch tracking, this instruction begins every function that an indirect call
/// may reach.
constexpr std::array<std::byte, 4> kLandingPad{std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfa}};

/// Machine code of ENDBR32, the form of ENDBR64 in 32-bit code.
constexpr std::array<std::byte, 4> kCompatLandingPad{std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e},
                                                     std::byte{0xfb}};

/// Opcode of jmp in 32-bit code; the 4-byte distance to the target follows.
constexpr std::byte kCompatJump{0xe9};

/// Returns the number of bytes at the beginning of `function` that criu must not overwrite: the size of `pad`, or 0 if
/// the function doesn't begin with `pad`.
std::size_t paddingOf(std::span<const std::byte> function, std::span<const std::byte> pad) {
    const bool padded = function.size() >= pad.size() && std::equal(pad.begin(), pad.end(), function.begin());
    return padded ? pad.size() : 0;
}

/// Machine code of jmp *0(%rip), which jumps to the address in the next 8 bytes. It changes no register.
constexpr std::array<std::byte, 6> kJump{std::byte{0xff}, std::byte{0x25}};

}  // namespace

std::size_t writeVdsoJump(std::span<std::byte> function, std::uint64_t target) noexcept {
    const std::size_t skipped = paddingOf(function, kLandingPad);
    const std::size_t size = skipped + kJump.size() + sizeof(target);
    if (function.size() < size)
        return 0;
    std::copy(kJump.begin(), kJump.end(), function.begin() + static_cast<std::ptrdiff_t>(skipped));
    std::memcpy(function.data() + skipped + kJump.size(), &target, sizeof(target));
    return size;
}

std::size_t writeCompatVdsoJump(std::span<std::byte> function, std::uint64_t at, std::uint64_t target) noexcept {
    const std::size_t skipped = paddingOf(function, kCompatLandingPad);
    const std::size_t size = skipped + sizeof(kCompatJump) + sizeof(std::uint32_t);
    if (function.size() < size)
        return 0;
    // Addresses of 32-bit code wrap around, so 4 bytes are enough for every distance.
    const auto distance = static_cast<std::uint32_t>(target - (at + size));
    function[skipped] = kCompatJump;
    std::memcpy(function.data() + skipped + sizeof(kCompatJump), &distance, sizeof(distance));
    return size;
}

bool mapCompatVdso() noexcept {
    return ::syscall(SYS_arch_prctl, ARCH_MAP_VDSO_32, 0) >= 0;
}

std::string_view compatVdsoHint() noexcept {
    return "it needs CONFIG_IA32_EMULATION, and to be booted without ia32_emulation=0 and vdso32=0";
}

void addMapCompatVdso(std::uint64_t at, pie::StepList& steps) {
    steps.call(pie::Subject::MoveVdso, at, SYS_arch_prctl, ARCH_MAP_VDSO_32, at);
}

Range compatVdsoRange() noexcept {
    // The range begins above the first MiB, which real-mode emulators use. It ends at the kernel's IA32_PAGE_OFFSET,
    // the limit of 32-bit tasks.
    return {0x100000, 0xffffe000};
}

std::uint64_t instructionPointerOf(const CoreEntry& core) noexcept {
    const bool known = core.thread_info != nullptr && core.thread_info->gpregs != nullptr;
    return known ? core.thread_info->gpregs->ip : 0;
}

}  // namespace criu::memory
