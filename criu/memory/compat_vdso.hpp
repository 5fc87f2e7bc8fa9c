// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "criu/memory/vdso.hpp"

namespace criu::memory {

/// The vDSO that this kernel gives 32-bit programs. A 64-bit process can ask for it once it has none.
struct CompatVdso {
    VdsoLayout layout;  ///< lowest address 0
    std::vector<std::byte> code;

    /// Looks at it in a child. Throws Error if the kernel has none.
    static CompatVdso ofKernel();

    [[nodiscard]] std::uint64_t size() const noexcept;
};

/// Number of the arch_prctl(2) request that maps it (ARCH_MAP_VDSO_32 of <asm/prctl.h>), its lowest address where the
/// second argument says.
inline constexpr int kMapCompatVdso = 0x2002;

}  // namespace criu::memory
