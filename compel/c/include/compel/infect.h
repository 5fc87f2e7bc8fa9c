/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Stop a process, run code in it, and let it go on as if nothing had been. The interface is that of libcompel 1.0 of
 * CRIU 4.2. The order of calls:
 *
 *     state = compel_stop_task(pid);
 *     ctl = compel_prepare(pid);
 *     compel_infect_ctx(ctl)->log_fd = STDERR_FILENO;
 *     parasite_setup_c_header(ctl);                     (from the header that `compel hgen` has made)
 *     compel_infect(ctl, 1, sizeof(arguments));
 *     compel_rpc_call_sync(PARASITE_USER_CMDS, ctl);    (any number of them)
 *     compel_cure(ctl);
 *     compel_resume_task(pid, state, state);
 *
 * Functions that return int return 0 or more on success and a negative number after a failure, which has been logged.
 * The kernel ties tracing to a thread: all calls about a process must come from the one that stopped it.
 */
#ifndef COMPEL_INFECT_H
#define COMPEL_INFECT_H

#include <compel/asm/infect-types.h>
#include <compel/asm/sigframe.h>
#include <compel/common/compiler.h>
#include <compel/handle-elf.h>
#include <compel/ksigset.h>
#include <compel/task-state.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes that must be executable where infect_ctx::syscall_ip points. */
#define PARASITE_START_AREA_MIN 4096
#define PARASITE_STACK_SIZE (16 << 10)
/* Bytes after each stack that nobody uses. */
#define PARASITE_STACK_REDZONE 128
/* Room for arguments of commands that there is in any case. */
#define PARASITE_ARG_SIZE_MIN 4096

COMPEL_BEGIN_C

/* Lines of /proc/PID/status: SigPnd, ShdPnd, SigBlk, State, Pid (in its namespace), PPid, Seccomp. */
#ifndef CRIU_SEIZE_TASK_STATUS /* criu-plugin-host.h has the same */
#define CRIU_SEIZE_TASK_STATUS
struct seize_task_status {
    unsigned long long sigpnd;
    unsigned long long shdpnd;
    unsigned long long sigblk;
    char state;
    int vpid;
    int ppid;
    int seccomp_mode;
};
#endif

/* Seizes a thread and asks it to stop. */
extern int __must_check compel_interrupt_task(int pid);
/*
 * Waits for the stop; returns a COMPEL_TASK_*. `get_status` fills `status` each time that is looked at, and
 * `free_status` (may be null) ends each such look but the last. A parent other than `ppid` is a failure, unless
 * that is -1. After a failure the thread isn't traced any more.
 */
extern int __must_check compel_wait_task(int pid, int ppid,
                                         int (*get_status)(int pid, struct seize_task_status* status, void* data),
                                         void (*free_status)(int pid, struct seize_task_status* status, void* data),
                                         struct seize_task_status* status, void* data);
/* Both, with what /proc says. */
extern int __must_check compel_stop_task(int pid);
/* The signal of a stopped tracee's stop. */
extern int __must_check compel_parse_stop_signo(int pid);
/* Ends tracing and leaves the task alive, stopped or killed: `state`; `orig_state` is what compel_stop_task() said. */
extern int compel_resume_task(pid_t pid, int orig_state, int state);
/* A task that was stopped before is stopped by this signal again: SIGSTOP or SIGTSTP. */
extern int compel_resume_task_sig(pid_t pid, int orig_state, int state, int stop_signo);

struct parasite_ctl;
struct parasite_thread_ctl;

/* Begins work on a stopped process; null after a failure. noctx leaves infect_ctx to the caller. */
extern struct parasite_ctl __must_check* compel_prepare(int pid);
extern struct parasite_ctl __must_check* compel_prepare_noctx(int pid);
/* Puts the blob into the process; room for `args_size` bytes of arguments; more than 1 thread: a second stack. */
extern int __must_check compel_infect(struct parasite_ctl* ctl, unsigned long nr_threads, unsigned long args_size);
/* The same without its being started. */
extern int __must_check compel_infect_no_daemon(struct parasite_ctl* ctl, unsigned long nr_threads,
                                                unsigned long args_size);
extern int __must_check compel_start_daemon(struct parasite_ctl* ctl);
/* The process is stopped afterwards, with the registers that it had. */
extern int __must_check compel_stop_daemon(struct parasite_ctl* ctl);
/* Another thread of the process, which must be stopped. */
extern struct parasite_thread_ctl __must_check* compel_prepare_thread(struct parasite_ctl* ctl, int pid);
extern void compel_release_thread(struct parasite_thread_ctl* tctl);
/* Takes the blob out of the process, releases what there is of it here (with `ctl`), or both. */
extern int __must_check compel_cure_remote(struct parasite_ctl* ctl);
extern int __must_check compel_cure_local(struct parasite_ctl* ctl);
extern int __must_check compel_cure(struct parasite_ctl* ctl);

/* Arguments of commands, in memory that is shared with the blob. */
#define compel_parasite_args(ctl, type)                     \
    ({                                                      \
        BUILD_BUG_ON(sizeof(type) > PARASITE_ARG_SIZE_MIN); \
        compel_parasite_args_p(ctl);                        \
    })
extern void* compel_parasite_args_p(struct parasite_ctl* ctl);
/* Ends the program if there is no room for so many bytes. */
extern void* compel_parasite_args_s(struct parasite_ctl* ctl, unsigned long args_size);

/* A system call by the process, while no blob is at work in it; `*ret` is its result or -errno. */
extern int __must_check compel_syscall(struct parasite_ctl* ctl, int nr, long* ret, unsigned long arg1,
                                       unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5,
                                       unsigned long arg6);
/* Has another thread carry out a command by parasite_trap_cmd(); returns what that returned. */
extern int __must_check compel_run_in_thread(struct parasite_thread_ctl* tctl, unsigned int cmd);
/* Runs code from `ip` on until it reaches a breakpoint instruction; registers as of then, if asked for. */
extern int __must_check compel_run_at(struct parasite_ctl* ctl, unsigned long ip, user_regs_struct_t* ret_regs);

enum trace_flags { TRACE_ALL, TRACE_ENTER, TRACE_EXIT };

/* So many tracees run until they have done a system call of this number (of the second one in 32-bit code). */
extern int __must_check compel_stop_on_syscall(int tasks, int sys_nr, int sys_nr_compat);
/* Runs a stopped tracee up to `addr`, or if `no_bp` up to its next system call. */
extern int __must_check compel_stop_pie(pid_t pid, void* addr, bool no_bp);
/* Runs code at `addr` that ends by unmapping itself. */
extern int __must_check compel_unmap(struct parasite_ctl* ctl, unsigned long addr);
/* The process runs 64-bit code. */
extern int compel_mode_native(struct parasite_ctl* ctl);

/* Signal masks that the threads have of their own. */
extern k_rtsigset_t* compel_task_sigmask(struct parasite_ctl* ctl);
extern k_rtsigset_t* compel_thread_sigmask(struct parasite_thread_ctl* tctl);

/* Opens /proc/PID/ and what the format says. */
typedef int (*open_proc_fn)(int pid, int mode, const char* format, ...) __attribute__((__format__(__printf__, 3, 4)));
/* Is given a thread's registers for keeping; the second argument is infect_ctx::regs_arg. */
typedef int (*save_regs_t)(pid_t pid, void* arg, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs);
/* Makes of them a frame for sigreturn, in our memory first and at the same time at the second address in the process.
 */
typedef int (*make_sigframe_t)(void* arg, struct rt_sigframe* frame, struct rt_sigframe* remote, k_rtsigset_t* mask);

/* How a process is infected. compel_prepare() fills all of it but log_fd. */
struct infect_ctx {
    int sock; /* a SOCK_SEQPACKET Unix socket in the network namespace of the process */
    save_regs_t save_regs;
    make_sigframe_t make_sigframe;
    void* regs_arg;
    unsigned long task_size;
    unsigned long syscall_ip; /* executable memory of the process */
    unsigned long flags;      /* INFECT_* */
    /* For SIGCHLD while the blob is at work, and what is put back then. Null: SIGCHLD is left alone. */
    void (*child_handler)(int signal, siginfo_t* info, void* context);
    struct sigaction orig_handler;
    open_proc_fn open_proc;
    int log_fd;                    /* where the blob logs to; must be given */
    unsigned long remote_map_addr; /* where the blob shall lie; 0: anywhere */
};

#define INFECT_NO_MEMFD (1ul << 0)       /* shared anonymous memory instead of a memfd */
#define INFECT_FAIL_CONNECT (1ul << 1)   /* for tests: the blob can't connect */
#define INFECT_NO_BREAKPOINTS (1ul << 2) /* no debug registers */
#define INFECT_COMPATIBLE (1ul << 3)     /* 32-bit processes as well; this library refuses them all the same */
/* 1ul << 4 is the processor's, see <compel/asm/infect-types.h>. */
#define INFECT_CORRUPT_EXTREGS (1ul << 5) /* for tests: fill extended registers with noise after they were read */

extern struct infect_ctx* compel_infect_ctx(struct parasite_ctl* ctl);

#define COMPEL_BLOB_CHEADER 1

/* A blob, as headers of `compel hgen` describe it. Offsets are those in the blob. */
struct parasite_blob_desc {
    unsigned parasite_type; /* COMPEL_BLOB_CHEADER */
    union {
        struct {
            const void* mem;
            size_t bsize;
            unsigned long parasite_ip_off; /* where it begins to run */
            unsigned long cmd_off;
            unsigned long args_ptr_off;
            unsigned long got_off;
            unsigned long args_off;
            unsigned long data_off; /* writable from here on; 0: all of it is */
            compel_reloc_t* relocs;
            unsigned int nr_relocs;
        } hdr;
    };
};

extern struct parasite_blob_desc* compel_parasite_blob_desc(struct parasite_ctl* ctl);
/* Fetches registers of a thread and hands them to the function. */
extern int __must_check compel_get_thread_regs(struct parasite_thread_ctl* tctl, save_regs_t save, void* arg);
/* Adapts a copy of a blob at `mem` to its running at `vbase`. */
extern void compel_relocs_apply(void* mem, void* vbase, struct parasite_blob_desc* blob);

/* Where the memory of a 64-bit process ends. */
extern unsigned long compel_task_size(void);
extern uint64_t compel_get_leader_sp(struct parasite_ctl* ctl);
extern uint64_t compel_get_thread_sp(struct parasite_thread_ctl* tctl);
extern uint64_t compel_get_leader_ip(struct parasite_ctl* ctl);
extern uint64_t compel_get_thread_ip(struct parasite_thread_ctl* tctl);
/* What it goes on with. */
extern void compel_set_leader_ip(struct parasite_ctl* ctl, uint64_t ip);
extern void compel_set_thread_ip(struct parasite_thread_ctl* tctl, uint64_t ip);
/* Upper ends of the stacks in the process; the second is null if there is one thread. Each may be null. */
extern void compel_get_stack(struct parasite_ctl* ctl, void** rstack, void** r_thread_stack);

COMPEL_END_C

#endif
