// SPDX-License-Identifier: LGPL-2.1-only
// Starts a blob that handles commands, connects to it, and ends it.
#include <compel/infect-util.h>
#include <compel/plugins/std/syscall-codes.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "compel/c/control.hpp"

using namespace compel::c;

char compel_run_id[RUN_ID_HASH_LENGTH];

namespace {

void makeRunId() {
    std::uint32_t parts[4] = {};
    if (compel_run_id[0] != '\0')
        return;
    if (getrandom(parts, sizeof(parts), GRND_NONBLOCK) != sizeof(parts))
        parts[0] = static_cast<std::uint32_t>(getpid());
    snprintf(compel_run_id, sizeof(compel_run_id), "%08x-%04x-4%03x-8%03x-%04x%08x", parts[0], parts[1] >> 16,
             parts[1] & 0xfff, parts[2] >> 20, parts[2] & 0xffff, parts[3]);
}

/// Stores in `init` the address to which the blob must connect. If the library's socket isn't bound yet, binds it to an
/// abstract address.
int listenFor(parasite_ctl* ctl, InitArguments* init) {
    sockaddr_un& address = init->address;
    socklen_t size = sizeof(address);
    if (getsockname(ctl->ictx.sock, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return failErrno(ctl->rpid, "look at the socket for it");
    if (size == offsetof(sockaddr_un, sun_path)) {
        makeRunId();
        address.sun_family = AF_UNIX;
        const int length =
            snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "/compel-%d-%s", getpid(), compel_run_id);
        address.sun_path[0] = '\0';
        size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
        if (bind(ctl->ictx.sock, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(ctl->ictx.sock, 1) != 0)
            return failErrno(ctl->rpid, "listen for it");
    }
    if ((ctl->ictx.flags & INFECT_FAIL_CONNECT) != 0)
        address.sun_path[1] = '-';
    init->addressSize = static_cast<std::int32_t>(size);
    return 0;
}

bool isRunning(int pid) {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
           info.si_pid == 0;
}

/// Waits until the blob has connected. Fails if the blob has ended or reports a failure.
int acceptFrom(parasite_ctl* ctl, const InitArguments* init) {
    for (;;) {
        pollfd wanted = {ctl->ictx.sock, POLLIN, 0};
        const int ready = poll(&wanted, 1, 100);
        if (ready > 0) {
            ctl->tsock = accept4(ctl->ictx.sock, nullptr, nullptr, SOCK_CLOEXEC);
            if (ctl->tsock >= 0)
                return 0;
            if (errno != EAGAIN && errno != EINTR)
                return failErrno(ctl->rpid, "accept its connection");
        }
        const auto state = static_cast<std::int32_t>(__atomic_load_n(&init->connected, __ATOMIC_ACQUIRE));
        if (state < 0) {
            errno = -state;
            return failErrno(ctl->rpid, "the code in it can't connect");
        }
        if (!isRunning(ctl->rpid))
            return fail(ctl->rpid, "it stopped or ended instead of connecting");
    }
}

int setChildHandler(parasite_ctl* ctl, bool on) {
    struct sigaction ours = {};
    if (ctl->ictx.child_handler == nullptr)
        return 0;
    ours.sa_sigaction = ctl->ictx.child_handler;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    sigaddset(&ours.sa_mask, SIGCHLD);
    if (sigaction(SIGCHLD, on ? &ours : &ctl->ictx.orig_handler, nullptr) != 0)
        return failErrno(ctl->rpid, "set the handler of SIGCHLD");
    return 0;
}

int startBlob(parasite_ctl* ctl) {
    auto* const init = static_cast<InitArguments*>(ctl->args);
    memset(static_cast<void*>(init), 0, sizeof(*init));
    init->sigframe = reinterpret_cast<std::uint64_t>(ctl->rsigframe);
    init->logLevel = static_cast<std::int32_t>(compel_log_get_loglevel());
    *ctl->cmd = commandInitDaemon;
    if (listenFor(ctl, init) != 0 || setChildHandler(ctl, true) != 0)
        return -1;
    user_regs_struct_t regs = ctl->orig.regs;
    Message answer;
    if (resumeAt(ctl->rpid, PTRACE_CONT, ctl->parasite_ip, ctl->rstack, &regs, &ctl->orig) == 0 &&
        acceptFrom(ctl, init) == 0 && compel_util_send_fd(ctl, ctl->ictx.log_fd) == 0 &&
        parasite_wait_ack(ctl->tsock, commandInitDaemon, &answer) == 0) {
        ctl->daemonized = true;
        return 0;
    }
    setChildHandler(ctl, false);
    return -1;
}

/// Sends the last command to the blob, and waits until sigreturn(2) has restored the process' registers.
int endBlob(parasite_ctl* ctl) {
    const int pid = ctl->rpid;
    if (setChildHandler(ctl, false) != 0)
        return -1;
    int signal;
    if (ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0)
        return failErrno(pid, "interrupt it");
    if (waitStop(pid, &signal) != 0)
        return -1;
    user_regs_struct_t regs;
    if (ptrace_get_regs(pid, &regs) != 0)
        return -1;
    const auto start = reinterpret_cast<unsigned long>(ctl->remote_map);
    if (REG_IP(regs) < start || REG_IP(regs) >= start + ctl->map_length)
        return fail(pid, "it isn't in the blob");
    if (compel_rpc_call(commandFini, ctl) != 0)
        return -1;
    if (ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr) != 0)
        return failErrno(pid, "run it to the end of the blob");
    return runThroughCall(pid, __NR_rt_sigreturn, __NR32_rt_sigreturn);
}

}  // namespace

extern "C" {

int compel_start_daemon(parasite_ctl* ctl) {
    auto* const extended =
        static_cast<user_fpregs_struct_t*>(aligned_alloc(alignof(user_fpregs_struct_t), sizeof(user_fpregs_struct_t)));
    if (extended == nullptr)
        return fail(ctl->rpid, "no memory for its registers");
    const infect_ctx& context = ctl->ictx;
    const bool started =
        compel_get_task_regs(ctl->rpid, &ctl->orig.regs, extended, context.save_regs, context.regs_arg,
                             context.flags) == 0 &&
        __compel_arch_fetch_thread_area(ctl->rpid, &ctl->orig) == 0 &&
        context.make_sigframe(context.regs_arg, ctl->sigframe, ctl->rsigframe, &ctl->orig.sigmask) == 0 &&
        parasite_setup_shstk(ctl, extended) == 0 && startBlob(ctl) == 0;
    free(extended);
    return started ? 0 : fail(ctl->rpid, "the blob in it can't be started");
}

int compel_stop_daemon(parasite_ctl* ctl) {
    if (!ctl->daemonized)
        return 0;
    // Clears the socket even after a failure. The library then doesn't know the state of the process, and must not use
    // the blob again.
    const int result = ctl->tsock < 0 ? -1 : endBlob(ctl);
    if (ctl->tsock >= 0)
        close(ctl->tsock);
    ctl->tsock = -1;
    if (result == 0)
        ctl->daemonized = false;
    return result;
}

int compel_cure_remote(parasite_ctl* ctl) {
    if (compel_stop_daemon(ctl) != 0)
        return -1;
    if (ctl->remote_map == nullptr)
        return 0;
    long result;
    if (compel_syscall(ctl, __NR_munmap, &result, reinterpret_cast<unsigned long>(ctl->remote_map), ctl->map_length, 0,
                       0, 0, 0) != 0)
        return -1;
    if (result != 0)
        return fail(ctl->rpid, "unmap the blob in it");
    ctl->remote_map = nullptr;
    return 0;
}

int compel_cure(parasite_ctl* ctl) {
    return compel_cure_remote(ctl) == 0 ? compel_cure_local(ctl) : -1;
}
}
