// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/memory/vdso/compat_vdso.hpp"
#include "criu/memory/vdso/vdso_proxy.hpp"
#include "images/core.hpp"

namespace criu::memory {
namespace {

using Code = std::array<std::byte, 4>;

/// Instruction that may begin a function and must stay: bti c. With branch target
/// identification, an indirect call may reach only such an instruction.
constexpr Code kBranchTarget{std::byte{0x5f}, std::byte{0x24}, std::byte{0x03}, std::byte{0xd5}};

/// Instructions that load the 8 bytes after them and jump there: ldr x16, #8; br x16. The procedure call standard lets
/// a function change x16 before its first instruction.
constexpr std::array<std::byte, 8> kJump{std::byte{0x50}, std::byte{0x00}, std::byte{0x00}, std::byte{0x58},
                                         std::byte{0x00}, std::byte{0x02}, std::byte{0x1f}, std::byte{0xd6}};

}  // namespace

std::size_t writeVdsoJump(std::span<std::byte> function, std::uint64_t target) noexcept {
    const bool padded = function.size() >= kBranchTarget.size() &&
                        std::equal(kBranchTarget.begin(), kBranchTarget.end(), function.begin());
    const std::size_t skipped = padded ? kBranchTarget.size() : 0;
    const std::size_t size = skipped + kJump.size() + sizeof(target);
    if (function.size() < size)
        return 0;
    std::copy(kJump.begin(), kJump.end(), function.begin() + static_cast<std::ptrdiff_t>(skipped));
    std::memcpy(function.data() + skipped + kJump.size(), &target, sizeof(target));
    return size;
}

std::size_t writeCompatVdsoJump(std::span<std::byte> /*function*/, std::uint64_t /*at*/,
                                std::uint64_t /*target*/) noexcept {
    return 0;
}

bool mapCompatVdso() noexcept {
    return false;
}

std::string_view compatVdsoHint() noexcept {
    return "32-bit tasks (AArch32) can't be restored";
}

void addMapCompatVdso(std::uint64_t /*at*/, pie::StepList& /*steps*/) {
    fail("32-bit tasks (AArch32) can't be restored");
}

Range compatVdsoRange() noexcept {
    return {};
}

std::uint64_t instructionPointerOf(const CoreEntry& core) noexcept {
    const bool known = core.ti_aarch64 != nullptr && core.ti_aarch64->gpregs != nullptr;
    return known ? core.ti_aarch64->gpregs->pc : 0;
}

}  // namespace criu::memory
