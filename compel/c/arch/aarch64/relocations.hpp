// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <elf.h>

namespace compel::arch {

/// Relocation "load address plus addend", the only type that remains in a linked position-independent file.
inline constexpr unsigned relativeRelocation = R_AARCH64_RELATIVE;

}  // namespace compel::arch
