/* SPDX-License-Identifier: GPL-2.0-only */
/* usage: crun_order LIBRARY IMAGES WORK PID
 * Dumps and restores a process by the calls of a container runtime in C, which finds the library with dlopen(3), in
 * their order. Exits with the status of the restored process. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <criu/criu.h>

/* Functions of criu.h by their names, as types say. */
#define CALL(name) ((__typeof__(&name))find(#name))

static void* library;

static void* find(const char* name) {
    void* const function = dlsym(library, name);

    if (!function) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    return function;
}

static char seen[1000];

static int note(char* action, criu_notify_arg_t na) {
    (void)na;
    strcat(seen, action);
    strcat(seen, " ");
    return strcmp(action, "orphan-pts-master") == 0 ? CALL(criu_get_orphan_pts_master_fd)() < 0 : 0;
}

static void prepare(int images, int work, const char* log) {
    if (CALL(criu_init_opts)())
        exit(3);
    if (CALL(criu_check_version)(31500) != 1)
        exit(4);
    CALL(criu_set_images_dir_fd)(images);
    CALL(criu_set_log_level)(4);
    CALL(criu_set_log_file)(log);
    CALL(criu_set_config_file)("/etc/criu/crun-that-is-not-there.conf");
    CALL(criu_set_work_dir_fd)(work);
}

static int dump(int images, int work, int pid) {
    struct criu_feature_check features = {.mem_track = true};

    prepare(images, work, "dump.log");
    CALL(criu_set_pid)(pid);
    if (CALL(criu_feature_check)(&features, sizeof(features)))
        return 5;
    CALL(criu_add_ext_mount)("/etc/hostname", "/etc/hostname");
    CALL(criu_set_ext_unix_sk)(false);
    CALL(criu_set_file_locks)(true);
    CALL(criu_set_orphan_pts_master)(true);
    CALL(criu_set_leave_running)(false);
    CALL(criu_set_shell_job)(false);
    CALL(criu_set_tcp_established)(true);
    CALL(criu_set_manage_cgroups_mode)(CRIU_CG_MODE_SOFT);
    CALL(criu_set_manage_cgroups)(true);
    CALL(criu_set_network_lock)(CRIU_NETWORK_LOCK_SKIP);
    return CALL(criu_dump)();
}

static int restore(int images, int work) {
    prepare(images, work, "restore.log");
    CALL(criu_add_ext_mount)("/etc/hostname", "/etc/hostname");
    CALL(criu_set_notify_cb)(note);
    CALL(criu_set_ext_unix_sk)(false);
    CALL(criu_set_file_locks)(true);
    CALL(criu_set_orphan_pts_master)(true);
    CALL(criu_set_tcp_established)(true);
    CALL(criu_set_manage_cgroups)(true);
    CALL(criu_set_manage_cgroups_mode)(CRIU_CG_MODE_SOFT);
    return CALL(criu_restore_child)();
}

int main(int argc, char* argv[]) {
    int images, work, ret, status;

    if (argc != 5)
        return 2;
    library = dlopen(argv[1], RTLD_NOW);
    images = open(argv[2], O_DIRECTORY | O_CLOEXEC);
    work = open(argv[3], O_DIRECTORY | O_CLOEXEC);
    if (!library || images < 0 || work < 0)
        return 2;
    ret = dump(images, work, atoi(argv[4]));
    if (ret) {
        fprintf(stderr, "dump: %d: %s\n", ret, CALL(criu_get_error)());
        return 6;
    }
    ret = restore(images, work);
    if (ret <= 0) {
        fprintf(stderr, "restore: %d: %s\n", ret, CALL(criu_get_error)());
        return 7;
    }
    printf("%s\n", seen);
    CALL(criu_free_opts)();
    if (waitpid(ret, &status, 0) != ret)
        return 8;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}
