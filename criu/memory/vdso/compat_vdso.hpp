// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "criu/memory/pages/ranges.hpp"
#include "criu/memory/vdso/vdso.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::memory {

/// vDSO of this kernel for 32-bit programs. A 64-bit process can map it after it has unmapped its 64-bit vDSO.
struct CompatVdso {
    VdsoLayout layout;  ///< layout, with offsets from the lowest address
    std::vector<std::byte> code;

    /// Reads the vDSO in a child process. Throws Error if this kernel has no vDSO for 32-bit programs.
    static CompatVdso ofKernel();

    [[nodiscard]] std::uint64_t size() const noexcept;
};

/// Maps the 32-bit vDSO into the calling process, which must have no vDSO. The kernel chooses the address. Returns
/// false if the kernel doesn't support this. Defined per architecture.
bool mapCompatVdso() noexcept;

/// Returns a hint for users whose kernel has no 32-bit vDSO. Defined per architecture.
std::string_view compatVdsoHint() noexcept;

/// Adds the step that maps the 32-bit vDSO at `at` in a process without a vDSO. `at` is its lowest address. Defined per
/// architecture.
void addMapCompatVdso(std::uint64_t at, pie::StepList& steps);

/// Returns the range of addresses in which a 32-bit task may have its vDSO. Defined per architecture.
Range compatVdsoRange() noexcept;

}  // namespace criu::memory
