/* SPDX-License-Identifier: LGPL-2.1-only */
/* Types of arguments of system calls. */
#ifndef COMPEL_PLUGINS_STD_SYSCALL_TYPES_H
#define COMPEL_PLUGINS_STD_SYSCALL_TYPES_H

#include <compel/plugins/std/asm/syscall-types.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

struct cap_header {
    uint32_t version;
    int pid;
};

struct cap_data {
    uint32_t eff;
    uint32_t prm;
    uint32_t inh;
};

struct krlimit {
    unsigned long rlim_cur;
    unsigned long rlim_max;
};

typedef unsigned long aio_context_t;
typedef int kernel_timer_t;

struct clone_args;
struct file_handle;
struct io_event;
struct iocb;
struct open_how;
struct pollfd;
struct robust_list_head;
struct rusage;
struct siginfo;

#endif
