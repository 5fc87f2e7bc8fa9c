// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

// COMPEL_ARCH_HEADER(registers.hpp) expands to the path of this header in the directory of the processor. No other file
// of compel/ depends on the processor. scripts/check-layers lists the files that the directory of each processor must
// have.
// clang-format off
#if defined(__x86_64__)
#define COMPEL_ARCH_HEADER(file) <compel/arch/x86/file>  // NOLINT(bugprone-macro-parentheses)
#elif defined(__aarch64__)
#define COMPEL_ARCH_HEADER(file) <compel/arch/aarch64/file>  // NOLINT(bugprone-macro-parentheses)
#else
#error "compel has no support for this processor yet: add compel/include/compel/arch/<name> and compel/src/arch/<name>"
#endif
// clang-format on
