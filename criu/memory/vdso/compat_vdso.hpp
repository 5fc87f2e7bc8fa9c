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

/// vDSO of this kernel for 32-bit programs. A 64-bit process can map it after it has unmapped its own.
struct CompatVdso {
    VdsoLayout layout;  ///< relative to the lowest address
    std::vector<std::byte> code;

    /// Reads it in a child. Throws Error if the kernel has none.
    static CompatVdso ofKernel();

    [[nodiscard]] std::uint64_t size() const noexcept;
};

/// Architecture: maps it into the calling process, which must have no vDSO, at an address of the kernel's choice.
/// Returns false if the kernel can't.
bool mapCompatVdso() noexcept;

/// Architecture: returns the hint for users whose kernel lacks it.
std::string_view compatVdsoHint() noexcept;

/// Architecture: adds the step that maps it in a process without a vDSO, with its lowest address at `at`.
void addMapCompatVdso(std::uint64_t at, pie::StepList& steps);

/// Architecture: returns the range in which the kernel's vDSO may lie in a 32-bit task.
Range compatVdsoRange() noexcept;

}  // namespace criu::memory
