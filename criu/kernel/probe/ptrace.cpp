// SPDX-License-Identifier: GPL-2.0-only
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "criu/kernel/probe/child.hpp"
#include "criu/kernel/probe/probes.hpp"

namespace criu::kernel::probe {

namespace {

/// Calls ptrace directly, because <sys/ptrace.h> lacks some of the requests. <linux/ptrace.h> has them, but can't be
/// included together with it.
long ptraceCall(long request, pid_t pid, std::uint64_t address, const void* data) {
    return ::syscall(SYS_ptrace, request, pid, address, data);
}

const void* asData(std::uint64_t value) {
    return reinterpret_cast<const void*>(value);  // NOLINT: ptrace takes numbers in its pointer argument
}

}  // namespace

bool seccompSuspend() {
    const TracedChild child([] {});
    return ptraceCall(PTRACE_SETOPTIONS, child.pid(), 0, asData(PTRACE_O_SUSPEND_SECCOMP)) == 0;
}

bool seccompFilters() {
    TracedChild child([] {
        sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
        const sock_fprog program{1, &allow};
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
            ::raise(SIGSTOP);
    });
    if (child.resumeUntilStop() != SIGSTOP)
        return false;
    // Without a buffer, the kernel returns the number of instructions of filter 0, which is 1.
    return ptraceCall(PTRACE_SECCOMP_GET_FILTER, child.pid(), 0, nullptr) == 1;
}

bool rseqConfiguration() {
    const TracedChild child([] {});
    ptrace_rseq_configuration configuration{};
    return ptraceCall(PTRACE_GET_RSEQ_CONFIGURATION, child.pid(), sizeof(configuration), &configuration) ==
           sizeof(configuration);
}

}  // namespace criu::kernel::probe
