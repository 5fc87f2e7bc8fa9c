// SPDX-License-Identifier: GPL-2.0-only
#include "seccomp.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace zdtm {

long install_filter(long system_call, unsigned action, unsigned flags) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(system_call), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog all{sizeof(program) / sizeof(program[0]), program};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &all);
}

long deny(long system_call, int error, unsigned flags) {
    return install_filter(system_call, SECCOMP_RET_ERRNO | static_cast<unsigned>(error), flags);
}

}  // namespace zdtm
