/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Symbols of criu's binary that aren't in criu-plugin.h. The plugins of CRIU 4.2 (amdgpu_plugin.so, cuda_plugin.so)
 * import them from its binary. Names and layouts are those of 4.2 on 64-bit machines, so that these plugins load and
 * work with this criu. New plugins should use only the descriptor store; the other symbols may be removed with 4.2's
 * plugins.
 *
 * Functions return a negative number after a failure, which they have logged, unless their comment says otherwise.
 */
#ifndef CRIU_PLUGIN_HOST_H
#define CRIU_PLUGIN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Descriptor store of a restore, shared by criu and all restored processes. fdstore_add() stores a copy and returns
 * an id from 0 on. fdstore_get() returns a new descriptor. */
int fdstore_add(int fd);
int fdstore_get(int id);

/* Allocates zeroed memory that criu shares with processes created later, at the same address. Returns NULL on
 * failure. Never freed. Restored processes lose it at the end of their restore. */
void* shmalloc(size_t bytes);

/* Options of the command. Only these members are set; the bytes between them are zero. */
struct cr_options {
    int final_state; /* of the processes after a dump: 1 they run, 2 they are dead, 3 they are stopped */
    char unused_a[156];
    char* libdir; /* --libdir, or NULL */
    char unused_b[184];
    unsigned int timeout; /* seconds to stop the processes in; 0: no limit */
    char unused_c[52];
    int stream; /* images go through a streamer: never */
    char unused_d[100];
};
extern struct cr_options opts;

/* Number in $CRIU_FAULT; 138 makes cuda_plugin work without a GPU. */
extern int fi_strategy;

/* Text that is unique for each run. */
extern char criu_run_id[37];

/* Root of the restored tree. has_children() returns true if the tree has more than one process. */
struct pstree_item;
extern struct pstree_item* root_item;
bool has_children(struct pstree_item* item);

/* Returns a number above all restored descriptors. Call it in a restored process. `pid` is ignored: the number is
 * valid for all processes. */
int find_unused_fd_pid(pid_t pid);

/* Reads the target of /proc/self/fd/`fd`, with a terminating NUL. Returns its length. */
int read_fd_link(int fd, char* buffer, size_t size);

/* Closes all descriptors from `first` on. */
int close_fds(int first);

/* Pass descriptors over a Unix socket, up to 252 in a message. Each has `size` bytes of `data`, or one byte for all.
 * `address` may be NULL. Both return 0 or a negative errno, and log nothing. */
struct sockaddr_un;
int send_fds(int socket, struct sockaddr_un* address, int length, int* fds, int count, void* data, unsigned size);
int __recv_fds(int socket, int* fds, int count, void* data, unsigned size, int flags);

/* Fails always: this criu has no streamer for plugins. */
int img_streamer_open(char* name, int flags);

/* Returns false always: criu calls no plugin after the timeout for stopping processes. */
bool alarm_timeouted(void);
/* Does nothing: criu always stops processes by ptrace. */
void set_compel_interrupt_only_mode(void);

/* Values that parse_pid_status() reads from /proc/PID/status. The later members of 4.2's larger structure aren't
 * set. */
#ifndef CRIU_SEIZE_TASK_STATUS /* compel/infect.h has the same */
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
int parse_pid_status(pid_t pid, struct seize_task_status* status, void* data);

/* Waits until a traced thread has reached the stop of PTRACE_INTERRUPT, and delivers signals that come before.
 * `get_status` fills `status`; `free_status` may be NULL. `parent` is the expected parent, or -1. Returns 1 if the
 * thread ran before, 3 if a signal had stopped its process, 2 if it ended during the call, 6 if it had ended before.
 * Unlike in 4.2 a failure doesn't detach the thread: its tracer, criu, detaches it. */
int compel_wait_task(int pid, int parent, int (*get_status)(int pid, struct seize_task_status* status, void* data),
                     void (*free_status)(int pid, struct seize_task_status* status, void* data),
                     struct seize_task_status* status, void* data);

#ifdef __cplusplus
}
#endif

#endif
