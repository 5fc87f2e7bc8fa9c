// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <elf.h>

namespace compel::arch {

/// "The file's address plus the addend": what is left of references to itself in a linked position-independent file.
inline constexpr unsigned relativeRelocation = R_X86_64_RELATIVE;

}  // namespace compel::arch
