// SPDX-License-Identifier: GPL-2.0-only
// Plugin that saves descriptors of /dev/cpu_dma_latency (each has a number), mappings of a loop device, connections to
// the server at $EXAMPLE_SERVER and macvlan network devices. It writes every call to the file $EXAMPLE_LOG.
// $EXAMPLE_FAIL names a call that fails.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/c/criu-plugin.h"

#define LATENCY "/dev/cpu_dma_latency"
#define LOOP_MAJOR 7

#ifndef PLUGIN_NAME
#define PLUGIN_NAME "example"
#endif
static const char name[] = PLUGIN_NAME;

/* Records a call. Returns 0, or the error with which it has to fail. */
static __attribute__((format(printf, 2, 3))) int note(const char* call, const char* format, ...) {
    const char* const fail = getenv("EXAMPLE_FAIL");
    const char* const path = getenv("EXAMPLE_LOG");
    FILE* const file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        va_list arguments;
        fputs(call, file);
        va_start(arguments, format);
        vfprintf(file, format, arguments);
        va_end(arguments);
        fputc('\n', file);
        fclose(file);
    }
    return fail != NULL && strcmp(fail, call) == 0 ? -EIO : 0;
}

/* Records the option example.colour of --plugin-option. Ignores options of other plugins. */
static int read_options(void) {
    static const struct option known[] = {{"example.colour", optional_argument, NULL, 'c'}, {0}};
    int argc;
    char** argv;
    if (criu_plugin_get_options(&argc, &argv) != 0 || argv[argc] != NULL)
        return -EINVAL;
    int failed = 0;
    int found;
    optind = 0;
    opterr = 0;
    while (failed == 0 && (found = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (found == 'c')
            failed = optarg == NULL ? -EINVAL : note("option", " colour %s of %d", optarg, argc - 1);
    /* The order of a changed array must not affect the next plugin. */
    argv[0] = argv[argc - 1];
    return failed;
}

static int start(int stage) {
    if (stage == CR_PLUGIN_STAGE__RESTORE && !check_and_remove_inventory_plugin(name, strlen(name)))
        note("unwanted", "%s", "");
    print_on_level(3, "%s: stage %d\n", name, stage);
    const int failed = read_options();
    return failed != 0 ? failed : note("init", " %d", stage);
}

static void end(int stage, int result) {
    note("exit", " %d %s", stage, result == 0 ? "well" : "failed");
}

CR_PLUGIN_REGISTER(name, start, end)

static int is_latency(const struct stat* stat_of) {
    struct stat wanted;
    return S_ISCHR(stat_of->st_mode) && stat(LATENCY, &wanted) == 0 && stat_of->st_rdev == wanted.st_rdev;
}

static int open_image(int id, int flags) {
    char path[64];
    snprintf(path, sizeof(path), "example-%d.img", id);
    return openat(criu_get_image_dir(), path, flags | O_CLOEXEC, 0600);
}

static int dump_file(int fd, int id) {
    struct stat stat_of;
    if (fstat(fd, &stat_of) != 0)
        return -errno;
    if (!is_latency(&stat_of))
        return -ENOTSUP;
    int value = 0;
    const int image = open_image(id, O_WRONLY | O_CREAT | O_TRUNC);
    if (pread(fd, &value, sizeof(value), 0) != sizeof(value) || image < 0 ||
        write(image, &value, sizeof(value)) != sizeof(value))
        return -EIO;
    close(image);
    if (add_inventory_plugin(name) != 0)
        return -EINVAL;
    return note("DUMP_EXT_FILE", "%s", "");
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__DUMP_EXT_FILE, dump_file)

static int restore_file(int id, bool* retry_needed) {
    static int calls;
    *retry_needed = ++calls == 1;
    if (*retry_needed)
        return note("RESTORE_EXT_FILE", "%s", " not yet");
    int value = 0;
    const int image = open_image(id, O_RDONLY);
    if (image < 0)
        return -errno;
    if (read(image, &value, sizeof(value)) != sizeof(value))
        return -EIO;
    close(image);
    const int fd = open(LATENCY, O_RDWR);
    if (fd < 0 || write(fd, &value, sizeof(value)) != sizeof(value))
        return -EIO;
    const int failed = note("RESTORE_EXT_FILE", "%s", " opened");
    return failed != 0 ? failed : fd;
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__RESTORE_EXT_FILE, restore_file)

/* Returns whether a socket's peer is the server. */
static int is_server(const struct sockaddr_un* address) {
    const char* const server = getenv("EXAMPLE_SERVER");
    return server != NULL && address->sun_family == AF_UNIX && strcmp(address->sun_path, server) == 0;
}

static int dump_socket(int fd, int inode) {
    struct sockaddr_un peer = {0};
    socklen_t size = sizeof(peer) - 1;
    if (getpeername(fd, (struct sockaddr*)&peer, &size) != 0)
        return -errno;
    if (!is_server(&peer))
        return -ENOTSUP;
    const int image = open_image(inode, O_WRONLY | O_CREAT | O_TRUNC);
    if (image < 0 || write(image, &peer, sizeof(peer)) != sizeof(peer))
        return -EIO;
    close(image);
    if (add_inventory_plugin(name) != 0)
        return -EINVAL;
    return note("DUMP_UNIX_SK", "%s", "");
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__DUMP_UNIX_SK, dump_socket)

static int restore_socket(int inode) {
    struct sockaddr_un peer;
    const int image = open_image(inode, O_RDONLY);
    if (image < 0)
        return -ENOTSUP;
    if (read(image, &peer, sizeof(peer)) != sizeof(peer))
        return -EIO;
    close(image);
    const int failed = note("RESTORE_UNIX_SK", "%s", "");
    if (failed != 0)
        return failed;
    /* Address of the socket, whose file the dumped process has left. */
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    snprintf(own.sun_path, sizeof(own.sun_path), "%.90s.client", peer.sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr*)&own, sizeof(own)) != 0 ||
        connect(fd, (const struct sockaddr*)&peer, sizeof(peer)) != 0)
        return -errno;
    return fd;
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__RESTORE_UNIX_SK, restore_socket)

/* An action script of the restore creates macvlan devices. */
static int dump_link(int index, int type, char* kind) {
    if (kind == NULL || strcmp(kind, "macvlan") != 0)
        return -ENOTSUP;
    return note("DUMP_EXT_LINK", " %d %d", index, type);
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__DUMP_EXT_LINK, dump_link)

static int dump_mount(char* mountpoint, int id) {
    const char* const last = strrchr(mountpoint, '/');
    if (last == NULL || strcmp(last, "/example") != 0)
        return -ENOTSUP;
    const int image = open_image(id, O_WRONLY | O_CREAT | O_TRUNC);
    if (image < 0)
        return -errno;
    close(image);
    if (add_inventory_plugin(name) != 0)
        return -EINVAL;
    return note("DUMP_EXT_MOUNT", " %s", mountpoint);
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__DUMP_EXT_MOUNT, dump_mount)

static int restore_mount(int id, char* mountpoint, char* old_root, int* is_file) {
    char path[256];
    const int image = open_image(id, O_RDONLY);
    if (image < 0)
        return -ENOTSUP;
    close(image);
    if (is_file != NULL || mount("example", mountpoint, "tmpfs", 0, NULL) != 0)
        return -EIO;
    snprintf(path, sizeof(path), "%s/made-by-plugin", mountpoint);
    const int file = open(path, O_WRONLY | O_CREAT, 0600);
    if (file < 0)
        return -errno;
    close(file);
    return note("RESTORE_EXT_MOUNT", " %s", old_root);
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__RESTORE_EXT_MOUNT, restore_mount)

static int handle_mapping(int fd, const struct stat* stat_of) {
    (void)fd;
    if (!S_ISBLK(stat_of->st_mode) || major(stat_of->st_rdev) != LOOP_MAJOR)
        return -ENOTSUP;
    return note("HANDLE_DEVICE_VMA", "%s", "");
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__HANDLE_DEVICE_VMA, handle_mapping)

static int update_mapping(const char* path, const uint64_t start_at, const uint64_t old_offset, uint64_t* new_offset,
                          int* fd) {
    (void)start_at;
    if (strncmp(path, "/dev/loop", 9) != 0)
        return 0;
    *new_offset = old_offset + 4096;
    *fd = open(path, O_RDONLY);
    const int failed = note("UPDATE_VMA_MAP", " %s", path);
    return failed != 0 ? failed : 1;
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__UPDATE_VMA_MAP, update_mapping)

static int resume(int pid) {
    (void)pid;
    return note("RESUME_DEVICES_LATE", "%s", "");
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__RESUME_DEVICES_LATE, resume)

static int pause_devices(int pid) {
    (void)pid;
    return note("PAUSE_DEVICES", "%s", "");
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__PAUSE_DEVICES, pause_devices)

static int checkpoint(int pid) {
    (void)pid;
    return note("CHECKPOINT_DEVICES", "%s", "");
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__CHECKPOINT_DEVICES, checkpoint)

static int asynchronous(void) {
    return note("RESTORE_ASYNCHRONOUS", "%s", "");
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__RESTORE_ASYNCHRONOUS, asynchronous)

static int restore_init(void) {
    return note("RESTORE_INIT", "%s", "");
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__RESTORE_INIT, restore_init)

static int dump_late(int root) {
    (void)root;
    return note("DUMP_DEVICES_LATE", "%s", "");
}
CR_PLUGIN_REGISTER_HOOK(CR_PLUGIN_HOOK__DUMP_DEVICES_LATE, dump_late)
