// SPDX-License-Identifier: GPL-2.0-only
// Seccomp filters of a test.
#pragma once

namespace zdtm {

// Installs a filter that makes a system call fail with the given error; seccomp(2)'s flags. Returns its result.
long deny(long system_call, int error, unsigned flags = 0);

// The same with any action of a filter (SECCOMP_RET_…).
long install_filter(long system_call, unsigned action, unsigned flags = 0);

}  // namespace zdtm
