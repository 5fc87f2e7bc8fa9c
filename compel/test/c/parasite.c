/* SPDX-License-Identifier: LGPL-2.1-only */
/* Blob that is written like blobs for libcompel 1.0. */
#include "commands.h"

#include <compel/plugins/plugin-fds.h>
#include <compel/plugins/std.h>

/* The blob needs relocations for the addresses in `names`, and writable memory for `counted`. */
static const char* const names[] = {"zero", "one", "two"};
static long counted;

static int add(struct arguments* args) {
    args->sum = (long)args->first + args->second;
    print_on_level(COMPEL_LOG_INFO, "%d plus %u is %ld, 0x%04x, %s %c%%\n", args->first, (unsigned)args->second,
                   args->sum, 0xab, "so", 'x');
    return 0;
}

static int name(struct arguments* args) {
    char text[STD_LOG_SIMPLE_CHUNK];
    if (std_strcmp(names[1], "one") != 0 || std_strtoul("0x1f", 0, 0) != 31)
        return -1;
    std_sprintf(text, "%5d|%-3s|%lx", -7, names[args->first], 0xffUL);
    memcpy(args->text, text, sizeof(args->text));
    return 0;
}

int parasite_daemon_cmd(int cmd, void* data) {
    struct arguments* args = data;
    switch (cmd) {
        case COMMAND_ADD:
            return add(args);
        case COMMAND_NAME:
            return name(args);
        case COMMAND_COUNT:
            args->sum = ++counted;
            return 0;
        case COMMAND_SEND:
            return fds_send_fd(args->first);
        case COMMAND_RECEIVE:
            args->sum = fds_recv_fd();
            return args->sum < 0 ? -1 : (int)sys_close((int)args->sum);
        case COMMAND_FAIL:
            return -5;
        default:
            return -1;
    }
}

int parasite_trap_cmd(int cmd, void* data) {
    struct arguments* args = data;
    if (cmd != COMMAND_THREAD)
        return -1;
    args->sum = sys_gettid();
    return 0;
}

void parasite_cleanup(void) {}
