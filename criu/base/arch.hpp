// SPDX-License-Identifier: GPL-2.0-only
#pragma once

// Selects the processor for all of criu/. CRIU_ARCH_HEADER(base/arch/CRIU_ARCH/machine.hpp) expands to the path of that
// header in the folder of the processor. scripts/check-layers lists the files that each such folder must have.
#if defined(__x86_64__)
#define CRIU_ARCH x86
#elif defined(__aarch64__)
#define CRIU_ARCH aarch64
#else
#error "criu has no support for this processor yet: Documentation/design.md lists the files that it needs"
#endif
// clang-format off
#define CRIU_ARCH_HEADER(path) <criu/path>  // NOLINT(bugprone-macro-parentheses)
// clang-format on
