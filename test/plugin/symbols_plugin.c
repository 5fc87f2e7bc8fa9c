// SPDX-License-Identifier: GPL-2.0-only
// Plugin that uses all of lib/c/criu-plugin-host.h, like plugins of CRIU 4.2. It writes errors and the stages of its
// checks to the file $SYMBOLS_LOG. It saves the state of device_user.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <compel/infect.h> /* plugins of CRIU 4.2 include both */

#include "lib/c/criu-plugin-host.h"
#include "lib/c/criu-plugin.h"

#define LATENCY "/dev/cpu_dma_latency"
#define LOOP_MAJOR 7
#define MANY 300

static const char name[] = "symbols";

/* Memory that the coordinator and the restored process share. */
struct shared {
    int from_master; /* ids of stored descriptors */
    int from_target;
    int counter;
};
static struct shared* shared;

static void note(const char* what, const char* detail) {
    FILE* const file = fopen(getenv("SYMBOLS_LOG"), "a");
    if (file == NULL)
        return;
    fprintf(file, "%s %s\n", what, detail);
    fclose(file);
}

static void require(int good, const char* what) {
    if (!good)
        note("wrong:", what);
}

static int make_file(const char* text) {
    const int fd = memfd_create("stored", MFD_CLOEXEC);
    const size_t size = strlen(text);
    return fd >= 0 && pwrite(fd, text, size, 0) == (ssize_t)size ? fd : -1;
}

static int has_text(int fd, const char* text) {
    char found[64] = {0};
    return fd >= 0 && pread(fd, found, sizeof(found) - 1, 0) >= 0 && strcmp(found, text) == 0;
}

static ino_t inode_of(int fd) {
    struct stat stat_of;
    return fstat(fd, &stat_of) == 0 ? stat_of.st_ino : 0;
}

/* More descriptors than fit into a message, with a number for each. */
static void check_sockets(void) {
    int ends[2];
    int fds[MANY];
    int got[MANY];
    int numbers[MANY];
    int got_numbers[MANY] = {0};
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    for (int i = 0; i < MANY; ++i) {
        fds[i] = make_file("passed");
        numbers[i] = i * 3;
        got[i] = -1;
    }
    require(send_fds(ends[0], NULL, 0, fds, MANY, numbers, sizeof(int)) == 0, "send_fds");
    require(__recv_fds(ends[1], got, MANY, got_numbers, sizeof(int), 0) == 0, "__recv_fds");
    require(memcmp(numbers, got_numbers, sizeof(numbers)) == 0, "data with descriptors");
    require(send_fds(ends[0], NULL, 0, fds, 1, NULL, 0) == 0, "send_fds without data");
    int single = -1;
    require(__recv_fds(ends[1], &single, 1, NULL, 0, 0) == 0 && inode_of(single) == inode_of(fds[0]), "one descriptor");
    close(single);
    for (int i = 0; i < MANY; ++i) {
        require(got[i] >= 0 && got[i] != fds[i] && inode_of(got[i]) == inode_of(fds[i]), "a passed descriptor");
        close(got[i]);
        close(fds[i]);
    }
    require(write(ends[0], "x", 1) == 1 && __recv_fds(ends[1], &single, 1, NULL, 0, 0) == -EINVAL, "no descriptor");
    require(__recv_fds(ends[1], &single, 1, NULL, 0, MSG_DONTWAIT) == -EAGAIN, "no message");
    close(ends[0]);
    close(ends[1]);
}

static void check_descriptors(void) {
    char link[128];
    const int fd = make_file("x");
    require(read_fd_link(fd, link, sizeof(link)) == (int)strlen(link) && strncmp(link, "/memfd:stored", 13) == 0,
            "read_fd_link");
    require(read_fd_link(fd, link, 5) < 0, "read_fd_link into too little");
    close(fd);
    require(read_fd_link(fd, link, sizeof(link)) < 0, "read_fd_link of nothing");
    const pid_t child = fork();
    if (child == 0) {
        require(dup2(0, 60) == 60 && close_fds(50) == 0 && fcntl(60, F_GETFD) < 0 && fcntl(0, F_GETFD) >= 0,
                "close_fds");
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void check_options(int stage) {
    require(opts.final_state == (stage == CR_PLUGIN_STAGE__DUMP ? 2 : 1), "opts.final_state");
    require(opts.timeout == 17, "opts.timeout");
    require(opts.stream == 0, "opts.stream");
    require(opts.libdir != NULL && strcmp(opts.libdir, getenv("SYMBOLS_DIRECTORY")) == 0, "opts.libdir");
    require(fi_strategy == 138, "fi_strategy");
    require(strlen(criu_run_id) == 36, "criu_run_id");
    require(!alarm_timeouted(), "alarm_timeouted");
    set_compel_interrupt_only_mode();
    char image[] = "image";
    require(img_streamer_open(image, O_RDONLY) < 0, "img_streamer_open");
}

static int start(int stage) {
    check_options(stage);
    check_sockets();
    check_descriptors();
    if (stage != CR_PLUGIN_STAGE__RESTORE) {
        require(fdstore_add(0) < 0 && fdstore_get(0) < 0, "descriptors can't be stored in a dump");
        require(!check_and_remove_inventory_plugin(name, strlen(name)), "no images list it yet");
        note("looked", "dump");
        return 0;
    }
    require(check_and_remove_inventory_plugin(name, strlen(name)), "it is wanted");
    require(root_item != NULL && !has_children(root_item), "has_children");
    shared = shmalloc(sizeof(*shared));
    require(shared != NULL && shared->counter == 0, "shmalloc");
    const int other = make_file("another");
    require(fdstore_add(other) >= 0, "fdstore_add");
    close(other);
    const int fd = make_file("from the master");
    shared->from_master = fdstore_add(fd);
    close(fd);
    require(shared->from_master > 0, "fdstore_add again");
    require(fdstore_get(1000) < 0 && fdstore_get(-1) < 0, "fdstore_get of nothing");
    note("looked", "restore");
    return 0;
}

static void end(int stage, int result) {
    (void)stage;
    (void)result;
}

CR_PLUGIN_REGISTER(name, start, end)

static int dump_file(int fd, int id) {
    struct stat stat_of;
    struct stat wanted;
    (void)id;
    if (fstat(fd, &stat_of) != 0 || stat(LATENCY, &wanted) != 0 || stat_of.st_rdev != wanted.st_rdev)
        return -ENOTSUP;
    return add_inventory_plugin(name);
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__DUMP_EXT_FILE, dump_file)

/* Called in the restored process. */
static int restore_file(int id, bool* retry_needed) {
    (void)id;
    *retry_needed = false;
    const int stored = fdstore_get(shared->from_master);
    require(has_text(stored, "from the master"), "fdstore_get in a restored process");
    close(stored);
    const int fd = make_file("from the process");
    shared->from_target = fdstore_add(fd);
    close(fd);
    /* The process has at least the standard streams and this file. */
    require(find_unused_fd_pid(1) > 3, "find_unused_fd_pid");
    ++shared->counter;
    note("looked", "process");

    const int value = 777;
    const int latency = open(LATENCY, O_RDWR);
    return latency >= 0 && write(latency, &value, sizeof(value)) == sizeof(value) ? latency : -EIO;
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__RESTORE_EXT_FILE, restore_file)

static int handle_mapping(int fd, const struct stat* stat_of) {
    (void)fd;
    return S_ISBLK(stat_of->st_mode) && major(stat_of->st_rdev) == LOOP_MAJOR ? 0 : -ENOTSUP;
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__HANDLE_DEVICE_VMA, handle_mapping)

/* Resumes the process, which criu has stopped, and stops it again. */
static void run_once(int pid, const char* when) {
    struct seize_task_status status;
    require(ptrace(PTRACE_CONT, pid, NULL, 0) == 0 && ptrace(PTRACE_INTERRUPT, pid, NULL, 0) == 0, when);
    require(compel_wait_task(pid, -1, parse_pid_status, NULL, &status, NULL) == 1, "compel_wait_task");
    require(status.state == 't' && status.vpid == pid && status.seccomp_mode == 0, "parse_pid_status");
    require((status.sigblk & 1ULL << (SIGTERM - 1)) != 0, "sigblk");
    require(compel_wait_task(getpid(), -1, parse_pid_status, NULL, &status, NULL) < 0, "nothing to wait for");
    require(status.state == 'R' && status.ppid == getppid(), "its own status");
}

static int checkpoint(int pid) {
    run_once(pid, "let it run in a dump");
    return 0;
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__CHECKPOINT_DEVICES, checkpoint)

static int resume(int pid) {
    const int stored = fdstore_get(shared->from_target);
    require(has_text(stored, "from the process"), "fdstore_get of what a process stored");
    close(stored);
    require(shared->counter == 1, "memory of shmalloc");
    run_once(pid, "let it run in a restore");
    note("looked", "resume");
    return 0;
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__RESUME_DEVICES_LATE, resume)
