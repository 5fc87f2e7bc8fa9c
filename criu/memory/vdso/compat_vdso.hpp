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

/// The vDSO that this kernel gives 32-bit programs. A 64-bit process can ask for it once it has none.
struct CompatVdso {
    VdsoLayout layout;  ///< lowest address 0
    std::vector<std::byte> code;

    /// Looks at it in a child. Throws Error if the kernel has none.
    static CompatVdso ofKernel();

    [[nodiscard]] std::uint64_t size() const noexcept;
};

/// Architecture: maps it into the calling process, which must have no vDSO, where the kernel likes. False if the kernel
/// has none or can't do it.
bool mapCompatVdso() noexcept;

/// Architecture: what a kernel needs to have it, for the user who meets one that hasn't.
std::string_view compatVdsoHint() noexcept;

/// Architecture: adds the step by which a process without a vDSO maps it, its lowest address at `at`.
void addMapCompatVdso(std::uint64_t at, pie::StepList& steps);

/// Architecture: where the kernel's vDSO may lie in a 32-bit task.
Range compatVdsoRange() noexcept;

}  // namespace criu::memory
