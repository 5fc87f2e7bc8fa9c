// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <elf.h>

namespace compel::arch {

/// Relocation "file address plus addend": the only one that remains in a linked position-independent file.
inline constexpr unsigned relativeRelocation = R_X86_64_RELATIVE;

}  // namespace compel::arch
