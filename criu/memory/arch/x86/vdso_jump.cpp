// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <cstring>

#include "criu/memory/vdso_proxy.hpp"

namespace criu::memory {
namespace {

/// What functions start with that indirect calls may lead to, where branches are tracked (ENDBR64).
constexpr std::array<std::byte, 4> kLandingPad{std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfa}};

/// jmp *0(%rip): to the address that follows. Touches no register.
constexpr std::array<std::byte, 6> kJump{std::byte{0xff}, std::byte{0x25}};

}  // namespace

std::size_t writeVdsoJump(std::span<std::byte> function, std::uint64_t target) noexcept {
    const bool padded =
        function.size() >= kLandingPad.size() && std::equal(kLandingPad.begin(), kLandingPad.end(), function.begin());
    const std::size_t skipped = padded ? kLandingPad.size() : 0;
    const std::size_t size = skipped + kJump.size() + sizeof(target);
    if (function.size() < size)
        return 0;
    std::copy(kJump.begin(), kJump.end(), function.begin() + static_cast<std::ptrdiff_t>(skipped));
    std::memcpy(function.data() + skipped + kJump.size(), &target, sizeof(target));
    return size;
}

std::uint64_t instructionPointerOf(const CoreEntry& core) noexcept {
    const bool known = core.thread_info != nullptr && core.thread_info->gpregs != nullptr;
    return known ? core.thread_info->gpregs->ip : 0;
}

}  // namespace criu::memory
