/* SPDX-License-Identifier: LGPL-2.1-only */
/* Numbers of system calls: __NR_* of 64-bit code, and __NR32_* for calls that the library makes in 32-bit code. */
#ifndef COMPEL_PLUGINS_STD_SYSCALL_CODES_H
#define COMPEL_PLUGINS_STD_SYSCALL_CODES_H

#include <asm/unistd.h>

#define __NR32_munmap 91
#define __NR32_rt_sigreturn 173

#endif
