// SPDX-License-Identifier: GPL-2.0-only
// Seccomp filters of tests.
#pragma once

namespace zdtm {

// Installs a filter that makes a system call fail with `error`. `flags` are those of seccomp(2). Returns its result.
long deny(long system_call, int error, unsigned flags = 0);

// Installs a filter with any action (SECCOMP_RET_…).
long install_filter(long system_call, unsigned action, unsigned flags = 0);

}  // namespace zdtm
