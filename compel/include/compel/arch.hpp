// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

// The only place that chooses an architecture. COMPEL_ARCH_HEADER(registers.hpp) names that header of the
// architecture's folder; every folder has the same files.
// clang-format off
#if defined(__x86_64__)
#define COMPEL_ARCH_HEADER(file) <compel/arch/x86/file>  // NOLINT(bugprone-macro-parentheses)
#else
#error "compel has no support for this architecture yet: add compel/include/compel/arch/<name> and compel/src/arch/<name>"
#endif
// clang-format on
