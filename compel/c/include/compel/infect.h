/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Stops a process, runs code in it, and resumes it unchanged. The interface is that of libcompel 1.0 of CRIU 4.2. The
 * order of calls:
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
 * Functions that return int return 0 or more on success, and a negative number after a failure, which they log. The
 * kernel ties tracing to a thread: the thread that stopped a process must make all calls for it.
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

/* Bytes that must be executable at infect_ctx::syscall_ip. */
#define PARASITE_START_AREA_MIN 4096
#define PARASITE_STACK_SIZE (16 << 10)
/* Unused bytes after each stack. */
#define PARASITE_STACK_REDZONE 128
/* Smallest size of the memory for arguments of commands. */
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

/* Seizes a thread and requests a stop. */
extern int __must_check compel_interrupt_task(int pid);
/*
 * Waits for the stop; returns a COMPEL_TASK_*. `get_status` fills `status` each time that the state is read;
 * `free_status` (may be null) ends each reading but the last. Fails if the parent isn't `ppid`, unless `ppid` is -1.
 * After a failure the thread isn't traced any more.
 */
extern int __must_check compel_wait_task(int pid, int ppid,
                                         int (*get_status)(int pid, struct seize_task_status* status, void* data),
                                         void (*free_status)(int pid, struct seize_task_status* status, void* data),
                                         struct seize_task_status* status, void* data);
/* Seizes a thread and waits for its stop, with the status of /proc. */
extern int __must_check compel_stop_task(int pid);
/* Returns the signal of a stopped tracee's stop. */
extern int __must_check compel_parse_stop_signo(int pid);
/* Ends tracing and leaves the task alive, stopped or killed, by `state`. `orig_state` is the result of
 * compel_stop_task(). */
extern int compel_resume_task(pid_t pid, int orig_state, int state);
/* Does the same. A task that was stopped before is stopped by `stop_signo` again: SIGSTOP or SIGTSTP. */
extern int compel_resume_task_sig(pid_t pid, int orig_state, int state, int stop_signo);

struct parasite_ctl;
struct parasite_thread_ctl;

/* Prepares a stopped process for infection. Returns null on failure. With noctx, the caller fills infect_ctx. */
extern struct parasite_ctl __must_check* compel_prepare(int pid);
extern struct parasite_ctl __must_check* compel_prepare_noctx(int pid);
/* Maps the blob into the process and starts it, with `args_size` bytes for arguments. More than 1 thread adds a second
 * stack. */
extern int __must_check compel_infect(struct parasite_ctl* ctl, unsigned long nr_threads, unsigned long args_size);
/* Maps the blob without starting it. */
extern int __must_check compel_infect_no_daemon(struct parasite_ctl* ctl, unsigned long nr_threads,
                                                unsigned long args_size);
extern int __must_check compel_start_daemon(struct parasite_ctl* ctl);
/* Ends the blob. Afterwards the process is stopped with its original registers. */
extern int __must_check compel_stop_daemon(struct parasite_ctl* ctl);
/* Prepares another thread of the process, which must be stopped. */
extern struct parasite_thread_ctl __must_check* compel_prepare_thread(struct parasite_ctl* ctl, int pid);
extern void compel_release_thread(struct parasite_thread_ctl* tctl);
/* Removes the blob from the process (cure_remote), releases the library's part with `ctl` (cure_local), or does both.
 */
extern int __must_check compel_cure_remote(struct parasite_ctl* ctl);
extern int __must_check compel_cure_local(struct parasite_ctl* ctl);
extern int __must_check compel_cure(struct parasite_ctl* ctl);

/* Returns the arguments of commands, in memory that is shared with the blob. */
#define compel_parasite_args(ctl, type)                     \
    ({                                                      \
        BUILD_BUG_ON(sizeof(type) > PARASITE_ARG_SIZE_MIN); \
        compel_parasite_args_p(ctl);                        \
    })
extern void* compel_parasite_args_p(struct parasite_ctl* ctl);
/* Returns the arguments. Ends the program if the memory is smaller than `args_size` bytes. */
extern void* compel_parasite_args_s(struct parasite_ctl* ctl, unsigned long args_size);

/* Makes a system call in the process, while no blob runs in it. `*ret` is the result or -errno. */
extern int __must_check compel_syscall(struct parasite_ctl* ctl, int nr, long* ret, unsigned long arg1,
                                       unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5,
                                       unsigned long arg6);
/* Executes a command in another thread by parasite_trap_cmd(), and returns its result. */
extern int __must_check compel_run_in_thread(struct parasite_thread_ctl* tctl, unsigned int cmd);
/* Runs code from `ip` on until it reaches a breakpoint instruction. Stores the registers of that moment in `ret_regs`
 * unless it is null. */
extern int __must_check compel_run_at(struct parasite_ctl* ctl, unsigned long ip, user_regs_struct_t* ret_regs);

enum trace_flags { TRACE_ALL, TRACE_ENTER, TRACE_EXIT };

/* Runs `tasks` tracees until each has made the system call `sys_nr` (`sys_nr_compat` in 32-bit code). */
extern int __must_check compel_stop_on_syscall(int tasks, int sys_nr, int sys_nr_compat);
/* Runs a stopped tracee up to `addr`, or with `no_bp` up to its next system call. */
extern int __must_check compel_stop_pie(pid_t pid, void* addr, bool no_bp);
/* Runs code at `addr` that ends by unmapping itself. */
extern int __must_check compel_unmap(struct parasite_ctl* ctl, unsigned long addr);
/* Returns whether the process runs 64-bit code. */
extern int compel_mode_native(struct parasite_ctl* ctl);

/* Returns the original signal masks of the threads. */
extern k_rtsigset_t* compel_task_sigmask(struct parasite_ctl* ctl);
extern k_rtsigset_t* compel_thread_sigmask(struct parasite_thread_ctl* tctl);

/* Opens a file of /proc/PID/; the format gives its name. */
typedef int (*open_proc_fn)(int pid, int mode, const char* format, ...) __attribute__((__format__(__printf__, 3, 4)));
/* Saves a thread's registers. The second argument is infect_ctx::regs_arg. */
typedef int (*save_regs_t)(pid_t pid, void* arg, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs);
/* Makes a frame for sigreturn from the registers. `frame` is its address here, `remote` the one in the process. */
typedef int (*make_sigframe_t)(void* arg, struct rt_sigframe* frame, struct rt_sigframe* remote, k_rtsigset_t* mask);

/* Settings of an infection. compel_prepare() fills all but log_fd. */
struct infect_ctx {
    int sock; /* a SOCK_SEQPACKET Unix socket in the network namespace of the process */
    save_regs_t save_regs;
    make_sigframe_t make_sigframe;
    void* regs_arg;
    unsigned long task_size;
    unsigned long syscall_ip; /* executable memory of the process */
    unsigned long flags;      /* INFECT_* */
    /* Handler of SIGCHLD while the blob runs, and the handler that is restored then. Null: SIGCHLD isn't changed. */
    void (*child_handler)(int signal, siginfo_t* info, void* context);
    struct sigaction orig_handler;
    open_proc_fn open_proc;
    int log_fd;                    /* descriptor of the blob's log; required */
    unsigned long remote_map_addr; /* address of the blob; 0 means any */
};

#define INFECT_NO_MEMFD (1ul << 0)       /* shared anonymous memory instead of a memfd */
#define INFECT_FAIL_CONNECT (1ul << 1)   /* for tests: the blob can't connect */
#define INFECT_NO_BREAKPOINTS (1ul << 2) /* doesn't use debug registers */
#define INFECT_COMPATIBLE (1ul << 3)     /* for 32-bit processes; this library refuses them anyway */
/* 1ul << 4 belongs to the processor, see <compel/asm/infect-types.h>. */
#define INFECT_CORRUPT_EXTREGS (1ul << 5) /* for tests: fill extended registers with noise after they were read */

extern struct infect_ctx* compel_infect_ctx(struct parasite_ctl* ctl);

#define COMPEL_BLOB_CHEADER 1

/* Description of a blob in headers of `compel hgen`. Offsets are those in the blob. */
struct parasite_blob_desc {
    unsigned parasite_type; /* COMPEL_BLOB_CHEADER */
    union {
        struct {
            const void* mem;
            size_t bsize;
            unsigned long parasite_ip_off; /* entry point */
            unsigned long cmd_off;
            unsigned long args_ptr_off;
            unsigned long got_off;
            unsigned long args_off;
            unsigned long data_off; /* start of the writable part; 0 means all of it */
            compel_reloc_t* relocs;
            unsigned int nr_relocs;
        } hdr;
    };
};

extern struct parasite_blob_desc* compel_parasite_blob_desc(struct parasite_ctl* ctl);
/* Reads registers of a thread and passes them to `save`. */
extern int __must_check compel_get_thread_regs(struct parasite_thread_ctl* tctl, save_regs_t save, void* arg);
/* Relocates the copy of a blob at `mem` to the address `vbase`. */
extern void compel_relocs_apply(void* mem, void* vbase, struct parasite_blob_desc* blob);

/* Returns the end of the address space of a 64-bit process. */
extern unsigned long compel_task_size(void);
extern uint64_t compel_get_leader_sp(struct parasite_ctl* ctl);
extern uint64_t compel_get_thread_sp(struct parasite_thread_ctl* tctl);
extern uint64_t compel_get_leader_ip(struct parasite_ctl* ctl);
extern uint64_t compel_get_thread_ip(struct parasite_thread_ctl* tctl);
/* Sets the address at which the thread continues. */
extern void compel_set_leader_ip(struct parasite_ctl* ctl, uint64_t ip);
extern void compel_set_thread_ip(struct parasite_thread_ctl* tctl, uint64_t ip);
/* Returns the upper ends of the stacks in the process. The second is null if there is one thread. Each pointer may be
 * null. */
extern void compel_get_stack(struct parasite_ctl* ctl, void** rstack, void** r_thread_stack);

COMPEL_END_C

#endif
