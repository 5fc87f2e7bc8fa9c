// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "images/vma.hpp"

/// Bits of the field `status` of a VMA entry in images.
namespace criu::memory {

enum class VmaStatus : std::uint32_t {
    Regular = 1U << 0,
    Stack = 1U << 1,
    Vsyscall = 1U << 2,
    Vdso = 1U << 3,
    Heap = 1U << 5,
    FilePrivate = 1U << 6,
    FileShared = 1U << 7,
    AnonShared = 1U << 8,
    AnonPrivate = 1U << 9,
    SysvIpc = 1U << 10,
    Socket = 1U << 11,
    Vvar = 1U << 12,
    AioRing = 1U << 13,
    Memfd = 1U << 14,
    ShadowStack = 1U << 15,
    Guard = 1U << 16,
    Uprobes = 1U << 17,
    Plugin = 1U << 27,
    IoUring = 1U << 28,  ///< CRIU 4.2 doesn't know this bit
};

constexpr std::uint32_t bit(VmaStatus status) noexcept {
    return static_cast<std::uint32_t>(status);
}

constexpr std::uint32_t operator|(VmaStatus one, VmaStatus other) noexcept {
    return bit(one) | bit(other);
}

inline bool is(const VmaEntry& vma, VmaStatus status) noexcept {
    return (vma.status & bit(status)) != 0;
}

/// Returns true if the image pagemap-<pid> stores private pages of the mapping.
inline bool hasPrivatePages(const VmaEntry& vma) noexcept {
    return is(vma, VmaStatus::Regular) && (is(vma, VmaStatus::AnonPrivate) || is(vma, VmaStatus::FilePrivate)) &&
           !is(vma, VmaStatus::Vvar) && !is(vma, VmaStatus::Vsyscall);
}

}  // namespace criu::memory
