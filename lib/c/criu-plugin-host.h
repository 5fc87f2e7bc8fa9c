/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What criu's binary exports beside criu-plugin.h: symbols of CRIU 4.2's own binary that the plugins in its tree
 * (amdgpu_plugin.so, cuda_plugin.so) import, under the names and with the layouts of 4.2 on 64-bit machines, so that
 * those binaries load and work here. New plugins need of these at most the descriptor store; the rest may go when 4.2's
 * plugins do.
 *
 * Functions return a negative number for a failure, which they have logged, unless said otherwise.
 */
#ifndef CRIU_PLUGIN_HOST_H
#define CRIU_PLUGIN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptor store of a restore: what the master or a restored process puts into it, all processes of the restore
 * can get. fdstore_add() stores a copy and returns an id from 0 on; fdstore_get() returns a new descriptor. */
int fdstore_add(int fd);
int fdstore_get(int id);

/* Zeroed memory that processes created from now on share with criu, at the same address; NULL if there is none. It is
 * never freed. Processes lose it when they are restored. */
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

/* The number in $CRIU_FAULT; 138 has cuda_plugin work without a GPU. */
extern int fi_strategy;

/* A text that no other run has. */
extern char criu_run_id[37];

/* Stands for the root of the tree that is restored; has_children() tells whether it is more than one process. */
struct pstree_item;
extern struct pstree_item* root_item;
bool has_children(struct pstree_item* item);

/* In a restored process: the lowest number from which on no restored descriptor is in the way. `pid` isn't looked at:
 * the number is good for all. */
int find_unused_fd_pid(pid_t pid);

/* What /proc/self/fd/`fd` points to, with a NUL; its length. */
int read_fd_link(int fd, char* buffer, size_t size);

/* Closes all descriptors from `first` on. */
int close_fds(int first);

/* Descriptors over a Unix socket, up to 252 in a message, with `size` bytes of `data` for each, or one byte for all.
 * `address` may be NULL. Both return 0 or a negative errno, and log nothing. */
struct sockaddr_un;
int send_fds(int socket, struct sockaddr_un* address, int length, int* fds, int count, void* data, unsigned size);
int __recv_fds(int socket, int* fds, int count, void* data, unsigned size, int flags);

/* There is no streamer: fails. */
int img_streamer_open(char* name, int flags);

/* Whether the time to stop processes in has passed: it never has when a plugin is asked. */
bool alarm_timeouted(void);
/* Processes are always stopped through ptrace: does nothing. */
void set_compel_interrupt_only_mode(void);

/* What parse_pid_status() reads of /proc/PID/status. The members after it in 4.2's larger structure aren't set. */
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

/* Waits until a traced thread has come to the stop that it was asked for by PTRACE_INTERRUPT; signals that it meets on
 * the way are delivered. `get_status` fills `status`, `free_status` may be NULL; `parent` is the parent that the
 * process must have, or -1. Returns 1: stopped, was running; 3: stopped, and its process was by a signal; 2: it ended
 * meanwhile; 6: it had ended before. Unlike in 4.2 the thread stays traced after a failure: criu, which traces it, will
 * let it go. */
int compel_wait_task(int pid, int parent, int (*get_status)(int pid, struct seize_task_status* status, void* data),
                     void (*free_status)(int pid, struct seize_task_status* status, void* data),
                     struct seize_task_status* status, void* data);

#ifdef __cplusplus
}
#endif

#endif
