// SPDX-License-Identifier: GPL-2.0-only
// Plugin of a later interface, with more hooks than criu knows. Its UPDATE_INETSK replaces the IPv4 address
// $INET_PLUGIN_FROM by $INET_PLUGIN_TO, as ai-dynamo's snapshot_inet_remap does.
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/c/criu-plugin.h"

static int start(int stage) {
    (void)stage;
    return 0;
}

static void end(int stage, int result) {
    (void)stage;
    (void)result;
}

static int replace(uint32_t* address, uint32_t from, uint32_t to) {
    if (*address != from)
        return 0;
    *address = to;
    return 1;
}

static int update(uint32_t family, uint32_t state, uint32_t* source, uint32_t* destination) {
    struct in_addr from;
    struct in_addr to;
    (void)state;
    if (family != AF_INET || getenv("INET_PLUGIN_FROM") == NULL ||
        inet_pton(AF_INET, getenv("INET_PLUGIN_FROM"), &from) != 1 ||
        inet_pton(AF_INET, getenv("INET_PLUGIN_TO"), &to) != 1)
        return -ENOTSUP;
    return replace(source, from.s_addr, to.s_addr) + replace(destination, from.s_addr, to.s_addr) > 0 ? 0 : -ENOTSUP;
}

/* cr_plugin_desc_t of an interface with two more hooks. */
struct later_descriptor {
    const char* name;
    int (*init)(int stage);
    void (*exit)(int stage, int ret);
    unsigned int version;
    unsigned int max_hooks;
    void* hooks[CR_PLUGIN_HOOK__MAX + 2];
};

struct later_descriptor CR_PLUGIN_DESC = {
    .name = "inet",
    .init = start,
    .exit = end,
    .version = CRIU_PLUGIN_VERSION,
    .max_hooks = CR_PLUGIN_HOOK__MAX + 2,
    .hooks = {[CR_PLUGIN_HOOK__UPDATE_INETSK] = (void*)update},
};
