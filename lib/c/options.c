/* SPDX-License-Identifier: LGPL-2.1-only */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "version.h"

/* A set of options is the message that is sent. The members are malloc'ed, as by protobuf-c's unpacking, so that
 * protobuf-c can free them. */

#define DEFAULT_SOCKET "./criu_service.socket"
#define DEFAULT_BINARY "criu"

const char* criu_lib_version = CRIU_VERSION;

criu_opts* global_opts;

static int replace_text(char** text, const char* value) {
    char* copy = strdup(value);

    if (!copy)
        return -ENOMEM;
    free(*text);
    *text = copy;
    return 0;
}

/* Makes room for one more pointer in a repeated field. Returns NULL without memory. */
static void** grow(void* array, size_t count) {
    return realloc(array, (count + 1) * sizeof(void*));
}

static int append_text(char*** array, size_t* count, const char* value) {
    char* copy;
    char** larger;

    if (!value)
        return -EINVAL;
    copy = strdup(value);
    larger = copy ? (char**)grow(*array, *count) : NULL;
    if (!larger) {
        free(copy);
        return -ENOMEM;
    }
    larger[*count] = copy;
    *array = larger;
    ++*count;
    return 0;
}

/* Creates a message of a few strings for a repeated field. */
#define NEW_MESSAGE(type, init)         \
    do {                                \
        message = malloc(sizeof(type)); \
        if (message)                    \
            init((type*)message);       \
    } while (0)

static int append_message(void* array_field, size_t* count, void* message, bool complete) {
    void** larger = NULL;
    void*** array = array_field;

    if (message && complete)
        larger = grow(*array, *count);
    if (!larger) {
        if (message)
            protobuf_c_message_free_unpacked(message, NULL);
        return -ENOMEM;
    }
    larger[*count] = message;
    *array = larger;
    ++*count;
    return 0;
}

static char* copy_of(const char* text) {
    return text ? strdup(text) : NULL;
}

/* Defines both forms of a setter, for a given set of options and for the global one. */
#define SETTER_VOID(name, type)                    \
    void criu_set_##name(type value) {             \
        criu_local_set_##name(global_opts, value); \
    }

#define FLAG(name, field)                                     \
    void criu_local_set_##name(criu_opts* opts, bool value) { \
        opts->rpc->has_##field = true;                        \
        opts->rpc->field = value;                             \
    }                                                         \
    SETTER_VOID(name, bool)

#define NUMBER(name, field, type)                             \
    void criu_local_set_##name(criu_opts* opts, type value) { \
        opts->rpc->has_##field = true;                        \
        opts->rpc->field = value;                             \
    }                                                         \
    SETTER_VOID(name, type)

#define TEXT(verb, name, field)                                          \
    int criu_local_##verb##_##name(criu_opts* opts, const char* value) { \
        return value ? replace_text(&opts->rpc->field, value) : -EINVAL; \
    }                                                                    \
    int criu_##verb##_##name(const char* value) {                        \
        return criu_local_##verb##_##name(global_opts, value);           \
    }

#define LIST(name, field)                                                    \
    int criu_local_add_##name(criu_opts* opts, const char* value) {          \
        return append_text(&opts->rpc->field, &opts->rpc->n_##field, value); \
    }                                                                        \
    int criu_add_##name(const char* value) {                                 \
        return criu_local_add_##name(global_opts, value);                    \
    }

FLAG(leave_running, leave_running)
FLAG(ext_unix_sk, ext_unix_sk)
FLAG(tcp_established, tcp_established)
FLAG(tcp_skip_in_flight, tcp_skip_in_flight)
FLAG(tcp_close, tcp_close)
FLAG(weak_sysctls, weak_sysctls)
FLAG(evasive_devices, evasive_devices)
FLAG(shell_job, shell_job)
FLAG(skip_file_rwx_check, skip_file_rwx_check)
FLAG(unprivileged, unprivileged)
FLAG(orphan_pts_master, orphan_pts_master)
FLAG(file_locks, file_locks)
FLAG(track_mem, track_mem)
FLAG(auto_dedup, auto_dedup)
FLAG(force_irmap, force_irmap)
FLAG(link_remap, link_remap)
FLAG(manage_cgroups, manage_cgroups)
FLAG(auto_ext_mnt, auto_ext_mnt)
FLAG(ext_sharing, ext_sharing)
FLAG(ext_masters, ext_masters)
FLAG(mntns_compat_mode, mntns_compat_mode)
FLAG(leave_stopped, leave_stopped)
FLAG(display_stats, display_stats)
FLAG(log_to_stderr, log_to_stderr)
FLAG(allow_loss, allow_loss)
FLAG(no_loss, no_loss)
FLAG(checksum, checksum)
FLAG(sync, sync)
FLAG(background, background)
FLAG(stream, stream)
FLAG(lazy_pages, lazy_pages)
FLAG(map_pages, map_pages)
FLAG(notify_mounts, notify_mounts)
FLAG(new_pidns, new_pidns)
FLAG(tls, tls)
FLAG(tls_no_cn_verify, tls_no_cn_verify)

NUMBER(pid, pid, int)
NUMBER(work_dir_fd, work_dir_fd, int)
NUMBER(log_level, log_level, int)
NUMBER(cpu_cap, cpu_cap, unsigned int)
NUMBER(timeout, timeout, unsigned int)
NUMBER(ghost_limit, ghost_limit, unsigned int)
NUMBER(pidfd_store_sk, pidfd_store_sk, int)
NUMBER(status_fd, status_fd, int)
NUMBER(background_memory, background_memory, uint64_t)
NUMBER(max_files, max_files, uint64_t)
NUMBER(max_processes, max_processes, uint64_t)
NUMBER(hold_timeout, hold_timeout, unsigned int)
NUMBER(compress, compress, unsigned int)
NUMBER(compress_acceleration, compress_acceleration, unsigned int)
NUMBER(compress_region_size, compress_region_size, uint64_t)
NUMBER(decompress_threads, decompress_threads, unsigned int)
NUMBER(stream_to, stream_to, int)
NUMBER(stream_from, stream_from, int)
NUMBER(decrypt, decrypt, int)
NUMBER(sign, sign, int)

TEXT(set, parent_images, parent_img)
TEXT(set, log_file, log_file)
TEXT(set, root, root)
TEXT(set, freeze_cgroup, freeze_cgroup)
TEXT(set, lsm_profile, lsm_profile)
TEXT(set, lsm_mount_context, lsm_mount_context)
TEXT(set, config_file, config_file)
TEXT(set, images_dir, images_dir)
TEXT(set, stream_memory, stream_memory)
TEXT(set, max_memory, max_memory)
TEXT(set, untrusted, untrusted)
TEXT(set, signed_by, signed_by)
TEXT(set, tls_peer, tls_peer)
TEXT(set, tls_cacert, tls_cacert)
TEXT(set, tls_cacrl, tls_cacrl)
TEXT(set, tls_cert, tls_cert)
TEXT(set, tls_key, tls_key)
TEXT(add, cg_props, cgroup_props)
TEXT(add, cg_props_file, cgroup_props_file)
TEXT(add, cg_yard, cgroup_yard)

LIST(enable_fs, enable_fs)
LIST(skip_mnt, skip_mnt)
LIST(irmap_path, irmap_scan_paths)
LIST(external, external)
LIST(plugin_option, plugin_options)
LIST(allow_loss, allow_losses)
LIST(encrypt, encrypt)
LIST(inet_map, inet_map)
LIST(cg_dump_controller, cgroup_dump_controller)

/* This field is required by the protocol. */
void criu_local_set_images_dir_fd(criu_opts* opts, int fd) {
    opts->rpc->images_dir_fd = fd;
}
SETTER_VOID(images_dir_fd, int)

void criu_local_set_image_io_direct(criu_opts* opts, bool value) {
    opts->rpc->has_image_io_mode = true;
    opts->rpc->image_io_mode = value ? CRIU_IMAGE_IO_MODE__DIRECT : CRIU_IMAGE_IO_MODE__WRITEBACK;
}
SETTER_VOID(image_io_direct, bool)

void criu_local_set_manage_cgroups_mode(criu_opts* opts, enum criu_cg_mode mode) {
    opts->rpc->has_manage_cgroups_mode = true;
    opts->rpc->manage_cgroups_mode = (CriuCgMode)mode;
}
SETTER_VOID(manage_cgroups_mode, enum criu_cg_mode)

void criu_local_set_empty_ns(criu_opts* opts, int namespaces) {
    opts->rpc->has_empty_ns = true;
    opts->rpc->empty_ns = (uint32_t)namespaces;
}
SETTER_VOID(empty_ns, int)

int criu_local_set_pre_dump_mode(criu_opts* opts, enum criu_pre_dump_mode mode) {
    if (mode != CRIU_PRE_DUMP_SPLICE && mode != CRIU_PRE_DUMP_READ)
        return -1;
    opts->rpc->has_pre_dump_mode = true;
    opts->rpc->pre_dump_mode = (CriuPreDumpMode)mode;
    return 0;
}

int criu_set_pre_dump_mode(enum criu_pre_dump_mode mode) {
    return criu_local_set_pre_dump_mode(global_opts, mode);
}

int criu_local_set_network_lock(criu_opts* opts, enum criu_network_lock_method method) {
    if (method < CRIU_NETWORK_LOCK_IPTABLES || method > CRIU_NETWORK_LOCK_SKIP)
        return -1;
    opts->rpc->has_network_lock = true;
    opts->rpc->network_lock = (CriuNetworkLockMethod)method;
    return 0;
}

int criu_set_network_lock(enum criu_network_lock_method method) {
    return criu_local_set_network_lock(global_opts, method);
}

int criu_local_add_unix_sk(criu_opts* opts, unsigned int inode) {
    void* message;
    int ret;

    if (opts->rpc->has_ext_unix_sk && !opts->rpc->ext_unix_sk)
        return -1;
    NEW_MESSAGE(UnixSk, unix_sk__init);
    if (message)
        ((UnixSk*)message)->inode = inode;
    ret = append_message(&opts->rpc->unix_sk_ino, &opts->rpc->n_unix_sk_ino, message, true);
    if (ret == 0)
        criu_local_set_ext_unix_sk(opts, true);
    return ret;
}

int criu_add_unix_sk(unsigned int inode) {
    return criu_local_add_unix_sk(global_opts, inode);
}

int criu_local_set_exec_cmd(criu_opts* opts, int argc, char* argv[]) {
    char** words = NULL;
    size_t count = 0;
    int ret = argc > 0 && argv ? 0 : -EINVAL;

    while (ret == 0 && count < (size_t)argc)
        ret = append_text(&words, &count, argv[count]);
    if (ret) {
        while (count)
            free(words[--count]);
        free(words);
        return ret;
    }
    while (opts->rpc->n_exec_cmd)
        free(opts->rpc->exec_cmd[--opts->rpc->n_exec_cmd]);
    free(opts->rpc->exec_cmd);
    opts->rpc->exec_cmd = words;
    opts->rpc->n_exec_cmd = count;
    return 0;
}

int criu_set_exec_cmd(int argc, char* argv[]) {
    return criu_local_set_exec_cmd(global_opts, argc, argv);
}

int criu_local_add_ext_mount(criu_opts* opts, const char* key, const char* val) {
    void* message;
    bool complete = false;

    if (!key || !val)
        return -EINVAL;
    NEW_MESSAGE(ExtMountMap, ext_mount_map__init);
    if (message) {
        ExtMountMap* mount = message;

        mount->key = strdup(key);
        mount->val = strdup(val);
        complete = mount->key && mount->val;
    }
    return append_message(&opts->rpc->ext_mnt, &opts->rpc->n_ext_mnt, message, complete);
}

int criu_add_ext_mount(const char* key, const char* val) {
    return criu_local_add_ext_mount(global_opts, key, val);
}

int criu_local_add_veth_pair(criu_opts* opts, const char* in, const char* out) {
    void* message;
    bool complete = false;

    if (!in || !out)
        return -EINVAL;
    NEW_MESSAGE(CriuVethPair, criu_veth_pair__init);
    if (message) {
        CriuVethPair* pair = message;

        pair->if_in = strdup(in);
        pair->if_out = strdup(out);
        complete = pair->if_in && pair->if_out;
    }
    return append_message(&opts->rpc->veths, &opts->rpc->n_veths, message, complete);
}

int criu_add_veth_pair(const char* in, const char* out) {
    return criu_local_add_veth_pair(global_opts, in, out);
}

int criu_local_add_cg_root(criu_opts* opts, const char* ctrl, const char* path) {
    void* message;
    bool complete = false;

    if (!path)
        return -EINVAL;
    NEW_MESSAGE(CgroupRoot, cgroup_root__init);
    if (message) {
        CgroupRoot* root = message;

        root->ctrl = copy_of(ctrl);
        root->path = strdup(path);
        complete = root->path && (root->ctrl || !ctrl);
    }
    return append_message(&opts->rpc->cg_root, &opts->rpc->n_cg_root, message, complete);
}

int criu_add_cg_root(const char* ctrl, const char* path) {
    return criu_local_add_cg_root(global_opts, ctrl, path);
}

int criu_local_add_inherit_fd(criu_opts* opts, int fd, const char* key) {
    void* message;
    bool complete = false;

    if (!key)
        return -EINVAL;
    NEW_MESSAGE(InheritFd, inherit_fd__init);
    if (message) {
        InheritFd* inherit = message;

        inherit->fd = fd;
        inherit->key = strdup(key);
        complete = inherit->key != NULL;
    }
    return append_message(&opts->rpc->inherit_fd, &opts->rpc->n_inherit_fd, message, complete);
}

int criu_add_inherit_fd(int fd, const char* key) {
    return criu_local_add_inherit_fd(global_opts, fd, key);
}

int criu_local_join_ns_add(criu_opts* opts, const char* ns, const char* ns_file, const char* extra_opt) {
    void* message;
    bool complete = false;

    if (!ns || !ns_file)
        return -EINVAL;
    NEW_MESSAGE(JoinNamespace, join_namespace__init);
    if (message) {
        JoinNamespace* join = message;

        join->ns = strdup(ns);
        join->ns_file = strdup(ns_file);
        join->extra_opt = copy_of(extra_opt);
        complete = join->ns && join->ns_file && (join->extra_opt || !extra_opt);
    }
    return append_message(&opts->rpc->join_ns, &opts->rpc->n_join_ns, message, complete);
}

int criu_join_ns_add(const char* ns, const char* ns_file, const char* extra_opt) {
    return criu_local_join_ns_add(global_opts, ns, ns_file, extra_opt);
}

static CriuPageServerInfo* page_server(criu_opts* opts) {
    if (!opts->rpc->ps) {
        opts->rpc->ps = malloc(sizeof(*opts->rpc->ps));
        if (opts->rpc->ps)
            criu_page_server_info__init(opts->rpc->ps);
    }
    return opts->rpc->ps;
}

int criu_local_set_page_server_address_port(criu_opts* opts, const char* address, int port) {
    CriuPageServerInfo* server = page_server(opts);

    if (!server)
        return -ENOMEM;
    if (address && replace_text(&server->address, address))
        return -ENOMEM;
    server->has_port = true;
    server->port = port;
    return 0;
}

int criu_set_page_server_address_port(const char* address, int port) {
    return criu_local_set_page_server_address_port(global_opts, address, port);
}

int criu_local_set_page_server_fd(criu_opts* opts, int fd) {
    CriuPageServerInfo* server = page_server(opts);

    if (!server)
        return -ENOMEM;
    server->has_fd = true;
    server->fd = fd;
    return 0;
}

int criu_set_page_server_fd(int fd) {
    return criu_local_set_page_server_fd(global_opts, fd);
}

void criu_local_set_notify_cb(criu_opts* opts, int (*cb)(char* action, criu_notify_arg_t na)) {
    opts->notify = cb;
    opts->rpc->has_notify_scripts = true;
    opts->rpc->notify_scripts = true;
}

void criu_set_notify_cb(int (*cb)(char* action, criu_notify_arg_t na)) {
    criu_local_set_notify_cb(global_opts, cb);
}

int criu_notify_pid(criu_notify_arg_t na) {
    return na->has_pid ? na->pid : 0;
}

void criu_free_service(criu_opts* opts) {
    free(opts->service_path);
    opts->service_path = NULL;
    opts->service_fd = -1;
}

static int set_service_path(criu_opts* opts, enum criu_service_comm comm, const char* path) {
    char* copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    criu_free_service(opts);
    opts->service_comm = comm;
    opts->service_path = copy;
    return 0;
}

int criu_local_set_service_address(criu_opts* opts, const char* path) {
    return set_service_path(opts, CRIU_COMM_SK, path ? path : DEFAULT_SOCKET);
}

int criu_set_service_address(const char* path) {
    return criu_local_set_service_address(global_opts, path);
}

int criu_local_set_service_binary(criu_opts* opts, const char* path) {
    return set_service_path(opts, CRIU_COMM_BIN, path ? path : DEFAULT_BINARY);
}

int criu_set_service_binary(const char* path) {
    return criu_local_set_service_binary(global_opts, path);
}

void criu_local_set_service_fd(criu_opts* opts, int fd) {
    criu_free_service(opts);
    opts->service_comm = CRIU_COMM_FD;
    opts->service_fd = fd;
}
SETTER_VOID(service_fd, int)

int criu_local_init_opts(criu_opts** opts) {
    criu_opts* made = calloc(1, sizeof(*made));

    criu_local_free_opts(*opts);
    *opts = NULL;
    if (!made)
        return -1;
    made->service_fd = -1;
    made->rpc = malloc(sizeof(*made->rpc));
    if (made->rpc)
        criu_opts__init(made->rpc);
    if (!made->rpc || criu_local_set_service_binary(made, NULL)) {
        criu_local_free_opts(made);
        return -1;
    }
    *opts = made;
    return 0;
}

int criu_init_opts(void) {
    return criu_local_init_opts(&global_opts);
}

void criu_local_free_opts(criu_opts* opts) {
    if (!opts)
        return;
    if (opts->rpc)
        criu_opts__free_unpacked(opts->rpc, NULL);
    criu_free_service(opts);
    free(opts->error);
    free(opts);
}

void criu_free_opts(void) {
    criu_local_free_opts(global_opts);
    global_opts = NULL;
}
