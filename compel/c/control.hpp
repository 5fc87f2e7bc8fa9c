// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/infect-rpc.h>
#include <compel/infect.h>
#include <compel/log.h>

#include <cstdint>

/// What the library keeps of a thread that it runs code in.
struct thread_ctx {
    k_rtsigset_t sigmask;
    user_regs_struct_t regs;
    tls_t tls;
    user_fpregs_struct_t ext_regs;
};

/// A process that is worked on.
struct parasite_ctl {
    int rpid;
    infect_ctx ictx;
    thread_ctx orig;  ///< of the thread leader
    parasite_blob_desc pblob;

    /// The blob with its stacks: here and there, null if there is none.
    void* local_map;
    void* remote_map;
    unsigned long map_length;

    // Parts of it; pointers to those in the process aren't to be dereferenced here.
    unsigned int* cmd;
    void* args;
    unsigned long args_size;
    rt_sigframe* sigframe;
    rt_sigframe* rsigframe;
    unsigned long parasite_ip;
    void* rstack;
    void* r_thread_stack;

    int tsock;  ///< to the blob at work; -1 if there is none
    bool daemonized;

    // What compel_prepare() has made, as long as infect_ctx still names it.
    int own_sock;
    void* own_regs;
};

struct parasite_thread_ctl {
    int tid;
    parasite_ctl* ctl;
    thread_ctx th;
};

namespace compel::c {

/// What library and blob say to each other. Blobs are built with one release and used with another, so none of this may
/// change.
struct Message {
    std::uint32_t cmd;
    std::uint32_t ack;
    std::int32_t err;
};

enum Command : unsigned {
    commandInitDaemon = 2,
    commandFini = 3,
};

/// Where the arguments of commands lie later.
struct InitArguments {
    std::int32_t addressSize;
    sockaddr_un address;
    std::int32_t logLevel;
    std::uint64_t sigreturnAddress;  ///< set by the blob
    std::uint64_t sigframe;
    std::uint32_t connected;  ///< set by the blob: 1, or -errno
};
static_assert(sizeof(Message) == 12 && sizeof(InitArguments) == 144);

/// Log an error and return -1; the first one adds what errno says.
int failErrno(int pid, const char* what);
int fail(int pid, const char* what);

constexpr unsigned long pageSize = 4096;
constexpr unsigned long roundUp(unsigned long value, unsigned long step) {
    return (value + step - 1) / step * step;
}

/// Where a thread goes on.
void setIp(user_regs_struct_t* regs, std::uint64_t ip);

/// All signals; those that the kernel sends for the tracee's own instructions too, if `withTrap`.
k_rtsigset_t blockedSignals(bool withTrap);

/// Sets mask and registers of a stopped thread and resumes it by the given ptrace request. On failure it has its own.
int resumeAt(int pid, int request, unsigned long ip, void* stack, user_regs_struct_t* regs, thread_ctx* own);
int restoreThread(int pid, thread_ctx* own);
/// Waits for a stop of the thread; fails if it has ended. The signal, with bit 0x80 at a system call's stop.
int waitStop(int pid, int* signal);
/// Runs a thread that is stopped or runs until it leaves a system call of that number.
int runThroughCall(int pid, long native, long compat);

}  // namespace compel::c

// Of the processor.
extern "C" {
int ptrace_get_regs(int pid, user_regs_struct_t* regs);
int ptrace_set_regs(int pid, user_regs_struct_t* regs);
void parasite_setup_regs(unsigned long ip, void* stack, user_regs_struct_t* regs);
/// Does the process' system call with the registers that `regs` has, by an instruction that is put where
/// infect_ctx::syscall_ip points; `regs` has the result. The instruction's length is padded to eight bytes.
int compel_execute_syscall(parasite_ctl* ctl, user_regs_struct_t* regs, const char* instruction);
int compel_get_task_regs(pid_t pid, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs, save_regs_t save, void* arg,
                         unsigned long flags);
int compel_set_task_ext_regs(pid_t pid, user_fpregs_struct_t* fpregs);
bool arch_can_dump_task(parasite_ctl* ctl);
int arch_fetch_sas(parasite_ctl* ctl, rt_sigframe* frame);
int sigreturn_prep_regs_plain(rt_sigframe* frame, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs);
int sigreturn_prep_fpu_frame_plain(rt_sigframe* frame, rt_sigframe* remote);

/// Maps memory in the process; null after a failure.
void* remote_mmap(parasite_ctl* ctl, void* address, size_t length, int protection, int flags, int fd, off_t offset);
long remote_mprotect(parasite_ctl* ctl, void* address, size_t length, int protection);
/// Waits for the answer to a command; 0 if it came, whatever it says.
int parasite_wait_ack(int sock, unsigned int cmd, compel::c::Message* message);
}
