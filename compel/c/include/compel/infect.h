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

/* Number of bytes of executable memory that the library needs at infect_ctx::syscall_ip. */
#define PARASITE_START_AREA_MIN 4096
#define PARASITE_STACK_SIZE (16 << 10)
/* Number of unused bytes after each stack. */
#define PARASITE_STACK_REDZONE 128
/* Minimum size in bytes of the memory for arguments of commands. */
#define PARASITE_ARG_SIZE_MIN 4096

COMPEL_BEGIN_C

/* Values of /proc/PID/status: SigPnd, ShdPnd, SigBlk, State, pid in the task's pid namespace, PPid and Seccomp. */
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

/* Seizes a thread (PTRACE_SEIZE) and requests a stop. */
extern int __must_check compel_interrupt_task(int pid);
/*
 * Waits for the stop that compel_interrupt_task() has requested. Returns a COMPEL_TASK_*. Fails if the task has another
 * parent than `ppid`; -1 accepts any parent. After a failure, the library has detached the thread. `get_status`: fills
 * `status`; the library may call it several times. `free_status`: called before each repeated get_status(); may be
 * null.
 */
extern int __must_check compel_wait_task(int pid, int ppid,
                                         int (*get_status)(int pid, struct seize_task_status* status, void* data),
                                         void (*free_status)(int pid, struct seize_task_status* status, void* data),
                                         struct seize_task_status* status, void* data);
/* Seizes a thread and waits for its stop. Reads the thread's status from /proc. Returns a COMPEL_TASK_*. */
extern int __must_check compel_stop_task(int pid);
/* Returns the signal that has stopped a tracee. */
extern int __must_check compel_parse_stop_signo(int pid);
/* Ends tracing, and leaves the task running, stopped or killed, as `state` says. `orig_state`: the result of
 * compel_stop_task(). */
extern int compel_resume_task(pid_t pid, int orig_state, int state);
/* Works like compel_resume_task(), but uses `stop_signo` (SIGSTOP or SIGTSTP) to stop a task again that was stopped
 * before. */
extern int compel_resume_task_sig(pid_t pid, int orig_state, int state, int stop_signo);

struct parasite_ctl;
struct parasite_thread_ctl;

/* Prepares a stopped process for infection. Returns null after a failure. After compel_prepare_noctx(), the caller must
 * fill infect_ctx. */
extern struct parasite_ctl __must_check* compel_prepare(int pid);
extern struct parasite_ctl __must_check* compel_prepare_noctx(int pid);
/* Maps the blob into the process and starts it. `nr_threads`: if it is more than 1, the library adds a second stack for
 * compel_run_in_thread(). `args_size`: number of bytes for arguments of commands. */
extern int __must_check compel_infect(struct parasite_ctl* ctl, unsigned long nr_threads, unsigned long args_size);
/* Maps the blob into the process, but doesn't start it. */
extern int __must_check compel_infect_no_daemon(struct parasite_ctl* ctl, unsigned long nr_threads,
                                                unsigned long args_size);
extern int __must_check compel_start_daemon(struct parasite_ctl* ctl);
/* Ends the blob. The process then is stopped with its original registers. */
extern int __must_check compel_stop_daemon(struct parasite_ctl* ctl);
/* Prepares another thread of the process for compel_run_in_thread(). The thread must be stopped. */
extern struct parasite_thread_ctl __must_check* compel_prepare_thread(struct parasite_ctl* ctl, int pid);
extern void compel_release_thread(struct parasite_thread_ctl* tctl);
/* Removes the blob from the process. compel_cure_local() releases the library's memory and `ctl`. compel_cure() does
 * both. */
extern int __must_check compel_cure_remote(struct parasite_ctl* ctl);
extern int __must_check compel_cure_local(struct parasite_ctl* ctl);
extern int __must_check compel_cure(struct parasite_ctl* ctl);

/* Returns the memory for arguments of commands, which the blob shares. */
#define compel_parasite_args(ctl, type)                     \
    ({                                                      \
        BUILD_BUG_ON(sizeof(type) > PARASITE_ARG_SIZE_MIN); \
        compel_parasite_args_p(ctl);                        \
    })
extern void* compel_parasite_args_p(struct parasite_ctl* ctl);
/* Returns the memory for arguments of commands. Ends the program if it has less than `args_size` bytes. */
extern void* compel_parasite_args_s(struct parasite_ctl* ctl, unsigned long args_size);

/* Makes a system call in the process. No blob may run in the process. `*ret`: gets the result, or -errno. */
extern int __must_check compel_syscall(struct parasite_ctl* ctl, int nr, long* ret, unsigned long arg1,
                                       unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5,
                                       unsigned long arg6);
/* Makes another thread call the blob's parasite_trap_cmd(), and returns its result. */
extern int __must_check compel_run_in_thread(struct parasite_thread_ctl* tctl, unsigned int cmd);
/* Runs the process from the address `ip` until it executes a breakpoint instruction. `ret_regs`: gets the registers at
 * the breakpoint; may be null. */
extern int __must_check compel_run_at(struct parasite_ctl* ctl, unsigned long ip, user_regs_struct_t* ret_regs);

enum trace_flags { TRACE_ALL, TRACE_ENTER, TRACE_EXIT };

/* Runs `tasks` tracees until each has made the system call `sys_nr` (in 32-bit code `sys_nr_compat`). */
extern int __must_check compel_stop_on_syscall(int tasks, int sys_nr, int sys_nr_compat);
/* Resumes a stopped tracee, which then runs until it reaches `addr`. With `no_bp`, it runs until its next system call.
 */
extern int __must_check compel_stop_pie(pid_t pid, void* addr, bool no_bp);
/* Runs code at `addr` in the process until the code has called munmap(2). */
extern int __must_check compel_unmap(struct parasite_ctl* ctl, unsigned long addr);
/* Returns true if the process runs 64-bit code. */
extern int compel_mode_native(struct parasite_ctl* ctl);

/* Returns the signal mask that the thread leader had before the infection. compel_thread_sigmask() returns that of
 * another thread. */
extern k_rtsigset_t* compel_task_sigmask(struct parasite_ctl* ctl);
extern k_rtsigset_t* compel_thread_sigmask(struct parasite_thread_ctl* tctl);

/* Function that opens a file below /proc/PID. `format` with its arguments is the name of the file. */
typedef int (*open_proc_fn)(int pid, int mode, const char* format, ...) __attribute__((__format__(__printf__, 3, 4)));
/* Function that saves a thread's registers. `arg`: infect_ctx::regs_arg. */
typedef int (*save_regs_t)(pid_t pid, void* arg, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs);
/* Function that makes a signal frame for sigreturn(2). `frame`: address of the frame in this process. `remote`: address
 * of the frame in the infected process. */
typedef int (*make_sigframe_t)(void* arg, struct rt_sigframe* frame, struct rt_sigframe* remote, k_rtsigset_t* mask);

/* Settings of an infection. compel_prepare() fills all members except log_fd. */
struct infect_ctx {
    int sock; /* Unix socket of type SOCK_SEQPACKET in the network namespace of the process */
    save_regs_t save_regs;
    make_sigframe_t make_sigframe;
    void* regs_arg;
    unsigned long task_size;
    unsigned long syscall_ip; /* address of executable memory in the process */
    unsigned long flags;      /* INFECT_* */
    /* Handler that the library sets for SIGCHLD while the blob runs; null if it doesn't change SIGCHLD. Afterwards the
     * library sets orig_handler. */
    void (*child_handler)(int signal, siginfo_t* info, void* context);
    struct sigaction orig_handler;
    open_proc_fn open_proc;
    int log_fd;                    /* descriptor for the blob's log; the caller must set it */
    unsigned long remote_map_addr; /* address to which the library maps the blob; 0 means any address */
};

#define INFECT_NO_MEMFD (1ul << 0)       /* the library maps shared anonymous memory and no memfd */
#define INFECT_FAIL_CONNECT (1ul << 1)   /* for tests: the blob can't connect */
#define INFECT_NO_BREAKPOINTS (1ul << 2) /* the library doesn't use debug registers */
#define INFECT_COMPATIBLE (1ul << 3)     /* for 32-bit processes, which this library refuses */
/* Bit 4 has a meaning for each processor in <compel/asm/infect-types.h>. */
/* for tests: the library fills extended registers with noise after it has saved them */
#define INFECT_CORRUPT_EXTREGS (1ul << 5)

extern struct infect_ctx* compel_infect_ctx(struct parasite_ctl* ctl);

#define COMPEL_BLOB_CHEADER 1

/* Description of a blob, which the headers of `compel hgen` contain. Offsets count from the start of the blob. */
struct parasite_blob_desc {
    unsigned parasite_type; /* COMPEL_BLOB_CHEADER */
    union {
        struct {
            const void* mem;
            size_t bsize;
            unsigned long parasite_ip_off; /* offset of the entry code */
            unsigned long cmd_off;
            unsigned long args_ptr_off;
            unsigned long got_off;
            unsigned long args_off;
            unsigned long data_off; /* offset of the writable part; 0 if the whole blob is writable */
            compel_reloc_t* relocs;
            unsigned int nr_relocs;
        } hdr;
    };
};

extern struct parasite_blob_desc* compel_parasite_blob_desc(struct parasite_ctl* ctl);
/* Reads the registers of a thread and calls `save` with them. */
extern int __must_check compel_get_thread_regs(struct parasite_thread_ctl* tctl, save_regs_t save, void* arg);
/* Adapts the copy of a blob at `mem` to the address `vbase`, at which it will run. */
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
/* Stores the upper ends of the blob's stacks in the process. `r_thread_stack`: gets the end of the second stack; null
 * without a second stack. Both arguments may be null. */
extern void compel_get_stack(struct parasite_ctl* ctl, void** rstack, void** r_thread_stack);

COMPEL_END_C

#endif
