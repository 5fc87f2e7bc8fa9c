/* SPDX-License-Identifier: GPL-2.0-only */
/* usage: provided IMAGES EMPTY PID
 * Dumps a process, and restores it from an empty directory: its images and memory come from criu memory-provider, whose
 * socket this program passes on. Exits with the status of the restored process. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criu/criu.h>

static int prepare(int images, const char* log) {
    if (criu_init_opts())
        return -1;
    criu_set_service_binary("criu");
    criu_set_images_dir_fd(images);
    criu_set_log_level(4);
    criu_set_log_file(log);
    return 0;
}

/* Starts criu memory-provider with one end of a socket pair as descriptor 9. */
static pid_t provide(const char* images, int ends[2]) {
    const pid_t child = fork();

    if (child == 0) {
        if (dup2(ends[1], 9) < 0)
            _exit(3);
        close(ends[0]);
        close(ends[1]);
        execlp("criu", "criu", "memory-provider", "-D", images, "-o", "provider.log", "-v4", "--inherit-fd",
               "fd[9]:extmem-provider", (char*)NULL);
        _exit(3);
    }
    close(ends[1]);
    return child;
}

int main(int argc, char* argv[]) {
    int images, empty, ends[2], status, pid;
    pid_t provider;

    if (argc != 4)
        return 2;
    images = open(argv[1], O_DIRECTORY | O_CLOEXEC);
    empty = open(argv[2], O_DIRECTORY | O_CLOEXEC);
    if (images < 0 || empty < 0 || prepare(images, "dump.log"))
        return 2;
    criu_set_pid(atoi(argv[3]));
    if (criu_dump()) {
        fprintf(stderr, "dump: %s\n", criu_get_error());
        return 6;
    }
    criu_free_opts();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
        return 2;
    provider = provide(argv[1], ends);
    if (provider < 0 || prepare(empty, "restore.log"))
        return 2;
    criu_add_inherit_fd(ends[0], "extmem-provider");
    pid = criu_restore_child();
    if (pid <= 0) {
        fprintf(stderr, "restore: %d: %s\n", pid, criu_get_error());
        return 7;
    }
    criu_free_opts();
    close(ends[0]);
    /* The provider ends by itself with its last connection, also while the restored process runs. */
    if (waitpid(provider, &status, 0) != provider || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return 8;
    if (waitpid(pid, &status, 0) != pid)
        return 9;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 10;
}
