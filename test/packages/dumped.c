// SPDX-License-Identifier: GPL-2.0-only
// Asks criu by libcriu to dump a process: dumped PID DIRECTORY. Built against the packages.
#include <criu.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    if (argc != 3 || criu_init_opts() != 0)
        return 2;
    criu_set_service_binary("/usr/sbin/criu");
    criu_set_pid(atoi(argv[1]));
    criu_set_images_dir_fd(open(argv[2], O_DIRECTORY | O_RDONLY));
    criu_set_log_file("dump.log");
    const int version = criu_get_version();
    const int status = criu_dump();
    printf("version %d, dump %d\n", version, status);
    return status == 0 && version >= 40200 ? 0 : 1;
}
