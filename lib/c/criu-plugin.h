/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Interface of criu's plugins. A plugin is a shared object with the data symbol CR_PLUGIN_DESC, which has its hooks:
 * functions that criu calls at points of a dump or restore. criu loads every *.so of its plugin directory (--libdir,
 * $CRIU_LIBS_DIR, /usr/lib/criu). Numbers and layout are those of CRIU, so binaries work with both. A plugin may know
 * more hooks than criu.
 *
 * A hook returns 0 for "done" and -ENOTSUP for "not mine, ask the next". Another negative errno is a failure and
 * ends the command. Exceptions are in the comments of hooks.
 */
#ifndef CRIU_PLUGIN_H
#define CRIU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRIU_PLUGIN_VERSION_MAJOR 0
#define CRIU_PLUGIN_VERSION_MINOR 2
#define CRIU_PLUGIN_VERSION_SUBLEVEL 0
#define CRIU_PLUGIN_GEN_VERSION(major, minor, sublevel) (((major) << 16) + ((minor) << 8) + (sublevel))
#define CRIU_PLUGIN_VERSION \
    CRIU_PLUGIN_GEN_VERSION(CRIU_PLUGIN_VERSION_MAJOR, CRIU_PLUGIN_VERSION_MINOR, CRIU_PLUGIN_VERSION_SUBLEVEL)

/* Command that criu executes; argument of init and exit. */
enum {
    CR_PLUGIN_STAGE__DUMP = 0,
    CR_PLUGIN_STAGE__PRE_DUMP = 1,
    CR_PLUGIN_STAGE__RESTORE = 2,
    CR_PLUGIN_STAGE_MAX = 3,
};

enum {
    /* int (int fd, int inode): saves a Unix socket whose peer is outside of the tree. */
    CR_PLUGIN_HOOK__DUMP_UNIX_SK = 0,
    /* int (int inode): returns the socket's descriptor; negative to let criu create it. Called in the restored
     * process. */
    CR_PLUGIN_HOOK__RESTORE_UNIX_SK = 1,
    /* int (int fd, int id): saves a file that criu doesn't know. `fd` is criu's copy of the process' descriptor. */
    CR_PLUGIN_HOOK__DUMP_EXT_FILE = 2,
    /* int (int id, bool *retry_needed): returns a descriptor for a file of DUMP_EXT_FILE. Called in the restored
     * process. The hook must always set *retry_needed; with true criu calls it again after opening other files. */
    CR_PLUGIN_HOOK__RESTORE_EXT_FILE = 3,
    /* int (char *mountpoint, int id): saves a mount whose source is outside of the tree. */
    CR_PLUGIN_HOOK__DUMP_EXT_MOUNT = 4,
    /* int (int id, char *mountpoint, char *old_root, int *is_file) */
    CR_PLUGIN_HOOK__RESTORE_EXT_MOUNT = 5,
    /* int (int index, int type, char *kind): saves a network device of unknown kind. */
    CR_PLUGIN_HOOK__DUMP_EXT_LINK = 6,
    /* int (int fd, const struct stat *stat): claims a mapping of this device. */
    CR_PLUGIN_HOOK__HANDLE_DEVICE_VMA = 7,
    /* int (const char *path, uint64_t start, uint64_t old_offset, uint64_t *new_offset, int *fd): returns 1 to map
     * *new_offset of *fd, or of `path` if *fd is negative. Called in the restored process. */
    CR_PLUGIN_HOOK__UPDATE_VMA_MAP = 8,
    /* int (int pid): the process is restored, and still stopped. */
    CR_PLUGIN_HOOK__RESUME_DEVICES_LATE = 9,
    /* int (int pid): criu is about to stop the process. */
    CR_PLUGIN_HOOK__PAUSE_DEVICES = 10,
    /* int (int pid): all processes are stopped. */
    CR_PLUGIN_HOOK__CHECKPOINT_DEVICES = 11,
    /* int (void): criu creates the processes of the tree; the hook may start threads in criu. */
    CR_PLUGIN_HOOK__RESTORE_ASYNCHRONOUS = 12,
    CR_PLUGIN_HOOK__POST_FORKING = CR_PLUGIN_HOOK__RESTORE_ASYNCHRONOUS,
    /* int (void): no process exists yet. Restored processes see only data in shared memory. */
    CR_PLUGIN_HOOK__RESTORE_INIT = 13,
    /* int (int root_pid): all processes and their memory are dumped. */
    CR_PLUGIN_HOOK__DUMP_DEVICES_LATE = 14,

    /* int (uint32_t family, uint32_t state, uint32_t *source, uint32_t *destination): returns 0 after it has replaced
     * addresses of an Internet socket that is to be restored: one word of AF_INET, or four of AF_INET6, in network
     * byte order. CRIU 4.2 lacks this hook. */
    CR_PLUGIN_HOOK__UPDATE_INETSK = 15,

    CR_PLUGIN_HOOK__MAX = 16,
};

typedef struct {
    const char* name;       /* the images' inventory may list this name */
    int (*init)(int stage); /* 0, or a negative errno that ends the command */
    void (*exit)(int stage, int ret);
    unsigned int version;   /* CRIU_PLUGIN_VERSION */
    unsigned int max_hooks; /* CR_PLUGIN_HOOK__MAX */
    void* hooks[CR_PLUGIN_HOOK__MAX];
} cr_plugin_desc_t;

#ifndef __cplusplus
#define CR_PLUGIN_REGISTER(plugin_name, plugin_init, plugin_exit) \
    cr_plugin_desc_t CR_PLUGIN_DESC = {                           \
        .name = (plugin_name),                                    \
        .init = (plugin_init),                                    \
        .exit = (plugin_exit),                                    \
        .version = CRIU_PLUGIN_VERSION,                           \
        .max_hooks = CR_PLUGIN_HOOK__MAX,                         \
    };

#define CR_PLUGIN_REGISTER_DUMMY(plugin_name)              \
    static int cr_plugin_dummy_init(int stage) {           \
        (void)stage;                                       \
        return 0;                                          \
    }                                                      \
    static void cr_plugin_dummy_exit(int stage, int ret) { \
        (void)stage;                                       \
        (void)ret;                                         \
    }                                                      \
    CR_PLUGIN_REGISTER(plugin_name, cr_plugin_dummy_init, cr_plugin_dummy_exit)

/* Registers a hook. `function` must have the hook's type. */
#define CR_PLUGIN_REGISTER_HOOK(hook, function)                                         \
    static void __attribute__((constructor)) cr_plugin_register_hook_##function(void) { \
        CR_PLUGIN_DESC.hooks[hook] = (void*)(function);                                 \
    }
#endif

/* Functions of criu for plugins. */

/* Returns the descriptor of the images directory; criu owns it. */
int criu_get_image_dir(void);

/* Records that the images can't be restored without the named plugin. Call it in a dump. Returns 0, or -1. */
int add_inventory_plugin(const char* name);

/* True if the images need the named plugin, or don't list plugins. Call it in init of a restore. A listed name that
 * no plugin has checked fails the restore. */
bool check_and_remove_inventory_plugin(const char* name, size_t length);

/* Returns all texts PLUGIN.NAME[=VALUE] of --plugin-option and of the RPC field plugin_options in the form of main()'s
 * arguments, for getopt_long(): argv[0] is a name, "--" is before each text, argv[argc] is NULL. Plugins ignore options
 * that they don't know. The strings belong to criu, and live until exit of the plugin. Returns 0 or a negative errno.
 * CRIU 4.2 lacks this function. */
int criu_plugin_get_options(int* argc, char*** argv);

/* Writes a line to criu's log. Levels are those of -v: 1 error, 2 warning, 3 info, 4 debug. */
void print_on_level(unsigned int level, const char* format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
