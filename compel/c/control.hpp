// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/infect-rpc.h>
#include <compel/infect.h>
#include <compel/log.h>

#include <cstdint>

/// Saved state of a thread in which the library runs code.
struct thread_ctx {
    k_rtsigset_t sigmask;
    user_regs_struct_t regs;
    tls_t tls;
    user_fpregs_struct_t ext_regs;
};

/// Process with an injected blob.
struct parasite_ctl {
    int rpid;
    infect_ctx ictx;
    thread_ctx orig;  ///< state of the thread leader
    parasite_blob_desc pblob;

    /// Addresses of the memory with blob and stacks: local_map in this process, and the address in the other process.
    /// Null if the memory isn't mapped.
    void* local_map;
    void* remote_map;
    unsigned long map_length;

    // Addresses inside of this memory. rsigframe, parasite_ip, rstack and r_thread_stack are addresses in the other
    // process.
    unsigned int* cmd;
    void* args;
    unsigned long args_size;
    rt_sigframe* sigframe;
    rt_sigframe* rsigframe;
    unsigned long parasite_ip;
    void* rstack;
    void* r_thread_stack;

    int tsock;  ///< socket to the running blob; -1 if no blob runs
    bool daemonized;

    // Resources that compel_prepare() has created. The library closes own_sock only if infect_ctx still refers to it,
    // because the program may have replaced it.
    int own_sock;
    void* own_regs;
};

struct parasite_thread_ctl {
    int tid;
    parasite_ctl* ctl;
    thread_ctx th;
};

namespace compel::c {

/// Message between library and blob. Don't change the protocol: a blob may be built with another release of the
/// library.
struct Message {
    std::uint32_t cmd;
    std::uint32_t ack;
    std::int32_t err;
};

enum Command : unsigned {
    commandInitDaemon = 2,
    commandFini = 3,
};

/// Arguments of commandInitDaemon. They are at the same address as the arguments of later commands.
struct InitArguments {
    std::int32_t addressSize;
    sockaddr_un address;
    std::int32_t logLevel;
    std::uint64_t sigreturnAddress;  ///< address of finish() in the blob, which the blob sets
    std::uint64_t sigframe;
    std::uint32_t connected;  ///< result of connect(2), which the blob sets: 1, or -errno
};
static_assert(sizeof(Message) == 12 && sizeof(InitArguments) == 144);

/// Logs an error with the text of errno, and returns -1. fail() logs an error without errno.
int failErrno(int pid, const char* what);
int fail(int pid, const char* what);

constexpr unsigned long roundUp(unsigned long value, unsigned long step) {
    return (value + step - 1) / step * step;
}

/// Sets the instruction pointer in `regs`.
void setIp(user_regs_struct_t* regs, std::uint64_t ip);

/// Returns a mask of all signals, with SIGTRAP only if `withTrap` is true.
k_rtsigset_t blockedSignals(bool withTrap);

/// Blocks signals, sets the registers of a stopped thread, and resumes it by the ptrace request `request`. After a
/// failure, restores the thread's state `own`.
int resumeAt(int pid, int request, unsigned long ip, void* stack, user_regs_struct_t* regs, thread_ctx* own);
int restoreThread(int pid, thread_ctx* own);
/// Waits for a stop of the thread. Fails if the thread has ended. `signal`: gets the signal of the stop, which has bit
/// 0x80 at a system call stop.
int waitStop(int pid, int* signal);
/// Runs a stopped or running thread until it has left a system call with this number (`compat` in 32-bit code).
int runThroughCall(int pid, long native, long compat);

}  // namespace compel::c

// Functions that arch/ implements for each processor.
extern "C" {
int ptrace_get_regs(int pid, user_regs_struct_t* regs);
int ptrace_set_regs(int pid, user_regs_struct_t* regs);
void parasite_setup_regs(unsigned long ip, void* stack, user_regs_struct_t* regs);
/// Makes a system call in the process with the registers `regs`. Afterwards `regs` contains the result. For the time of
/// the call, `instruction` (eight bytes) replaces the code at infect_ctx::syscall_ip.
int compel_execute_syscall(parasite_ctl* ctl, user_regs_struct_t* regs, const char* instruction);
int compel_get_task_regs(pid_t pid, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs, save_regs_t save, void* arg,
                         unsigned long flags);
int compel_set_task_ext_regs(pid_t pid, user_fpregs_struct_t* fpregs);
bool arch_can_dump_task(parasite_ctl* ctl);
int arch_fetch_sas(parasite_ctl* ctl, rt_sigframe* frame);
int sigreturn_prep_regs_plain(rt_sigframe* frame, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs);
int sigreturn_prep_fpu_frame_plain(rt_sigframe* frame, rt_sigframe* remote);

/// Maps memory in the process. Returns null on failure.
void* remote_mmap(parasite_ctl* ctl, void* address, size_t length, int protection, int flags, int fd, off_t offset);
long remote_mprotect(parasite_ctl* ctl, void* address, size_t length, int protection);
/// Waits for the reply to a command. Returns 0 when a reply has arrived, even if the reply reports an error.
int parasite_wait_ack(int sock, unsigned int cmd, compel::c::Message* message);
}
