/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef CRIU_LIB_H
#define CRIU_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc.pb-c.h"

/*
 * libcriu: dumps and restores processes from a program. The library starts `criu swrk`, or connects to a `criu
 * service`, and sends requests. No code of criu runs in the calling process.
 *
 *     criu_init_opts();
 *     criu_set_images_dir_fd(open("images", O_RDONLY | O_DIRECTORY));
 *     criu_set_pid(pid);
 *     if (criu_dump() < 0)
 *             fprintf(stderr, "%s\n", criu_get_error());
 *
 * Functions without "local" use one global set of options. A program may have any number of other sets, each with
 * its own connection to criu. Setting an option while another thread sends a request with the same set is a race;
 * different sets are independent. The library copies strings. Options stay set for later requests.
 *
 * A function that sends a request returns a negative errno when it fails:
 *
 *     -EBADE         the request failed: criu_get_error() and criu's log have the reason
 *     -ECONNREFUSED  the library couldn't start criu, or no process listens at the socket
 *     -ECOMM         the connection broke
 *     -EINVAL        criu doesn't know this request
 *     -EBADMSG       criu's reply doesn't match the request
 *
 * errno has more after -EBADE: ESRCH (no process to dump), EEXIST (a pid to restore is in use), EBADRQC (the options
 * are wrong), or 0 if nothing more is known.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Connections to criu. */
enum criu_service_comm {
    CRIU_COMM_SK,  /* a service at the path of a socket */
    CRIU_COMM_FD,  /* an open connection */
    CRIU_COMM_BIN, /* the library starts criu for each request */
};

/* How far cgroups are restored; criu(8), --manage-cgroups. */
enum criu_cg_mode {
    CRIU_CG_MODE_IGNORE,
    CRIU_CG_MODE_NONE,
    CRIU_CG_MODE_PROPS,
    CRIU_CG_MODE_SOFT,
    CRIU_CG_MODE_FULL,
    CRIU_CG_MODE_STRICT,
    CRIU_CG_MODE_DEFAULT,
};

/* Methods of the network lock during a dump. */
enum criu_network_lock_method {
    CRIU_NETWORK_LOCK_IPTABLES = 1,
    CRIU_NETWORK_LOCK_NFTABLES = 2,
    CRIU_NETWORK_LOCK_SKIP = 3,
};

/* Methods by which a pre-dump reads memory. */
enum criu_pre_dump_mode {
    CRIU_PRE_DUMP_SPLICE = 1,
    CRIU_PRE_DUMP_READ = 2,
};

/* Levels of criu's log. */
enum criu_log_level {
    CRIU_LOG_UNSET = -1,
    CRIU_LOG_MSG = 0,
    CRIU_LOG_ERROR = 1,
    CRIU_LOG_WARN = 2,
    CRIU_LOG_INFO = 3,
    CRIU_LOG_DEBUG = 4,
};

/* A set of options with a connection to criu. */
typedef struct criu_opts criu_opts;

/* A notification; its content is the message criu_notify. */
typedef CriuNotify* criu_notify_arg_t;

/* Argument of criu_dump_iters() callbacks; always NULL yet. */
typedef void* criu_predump_info;

/* Creates new options; must be called before all other functions. The default connection starts the program "criu"
 * in $PATH. Returns 0, or -1 without memory. criu_local_init_opts() frees the earlier *opts, so *opts must be NULL
 * at first. */
int criu_init_opts(void);
int criu_local_init_opts(criu_opts** opts);
/* Frees the options; NULL is allowed. */
void criu_free_opts(void);
void criu_local_free_opts(criu_opts* opts);

/* Set the connection to criu. NULL paths mean "./criu_service.socket", and "criu" in $PATH. The descriptor is a
 * connected SOCK_SEQPACKET socket; the library closes it after one request. Functions with a result return 0 or
 * -ENOMEM. */
int criu_set_service_address(const char* path);
void criu_set_service_fd(int fd);
int criu_set_service_binary(const char* path);
int criu_local_set_service_address(criu_opts* opts, const char* path);
void criu_local_set_service_fd(criu_opts* opts, int fd);
int criu_local_set_service_binary(criu_opts* opts, const char* path);
/* Frees the path of the connection. criu_local_free_opts() and the functions above do this, too. */
void criu_free_service(criu_opts* opts);

/*
 * Options; criu(8) describes each under the same name. Functions with a result return 0, or a negative number
 * without memory or for an invalid value. After a failure the option is unchanged.
 */

/* Root of the tree to dump. Unset: the caller; see criu_dump(). */
void criu_set_pid(int pid);
/* Open directories for images and for logs (unset: the images directory). criu opens them again by itself. */
void criu_set_images_dir_fd(int fd);
void criu_set_work_dir_fd(int fd);
/* Earlier images, relative to the images directory. */
int criu_set_parent_images(const char* path);
/* A name without slashes, and an enum criu_log_level. */
int criu_set_log_file(const char* log_file);
void criu_set_log_level(int log_level);
/* Configuration file. criu reads it last, and its values override all other options. */
int criu_set_config_file(const char* path);
void criu_set_leave_running(bool leave_running);
void criu_set_ext_unix_sk(bool ext_unix_sk);
/* Adds an inode and sets ext_unix_sk. Returns -1 if ext_unix_sk was set to false. */
int criu_add_unix_sk(unsigned int inode);
void criu_set_tcp_established(bool tcp_established);
void criu_set_tcp_skip_in_flight(bool tcp_skip_in_flight);
void criu_set_tcp_close(bool tcp_close);
void criu_set_weak_sysctls(bool val);
void criu_set_evasive_devices(bool evasive_devices);
void criu_set_shell_job(bool shell_job);
void criu_set_skip_file_rwx_check(bool skip_file_rwx_check);
void criu_set_unprivileged(bool unprivileged);
/* Makes criu pass orphan masters to the caller; see criu_get_orphan_pts_master_fd(). */
void criu_set_orphan_pts_master(bool orphan_pts_master);
void criu_set_file_locks(bool file_locks);
void criu_set_track_mem(bool track_mem);
void criu_set_auto_dedup(bool auto_dedup);
void criu_set_force_irmap(bool force_irmap);
void criu_set_link_remap(bool link_remap);
/* Bits: 1 fpu, 2 cpu, 4 ins, 8 image. */
void criu_set_cpu_cap(unsigned int cap);
int criu_set_root(const char* root);
void criu_set_manage_cgroups(bool manage);
void criu_set_manage_cgroups_mode(enum criu_cg_mode mode);
int criu_set_freeze_cgroup(const char* name);
int criu_set_lsm_profile(const char* name);
int criu_set_lsm_mount_context(const char* name);
/* Seconds. */
void criu_set_timeout(unsigned int timeout);
void criu_set_auto_ext_mnt(bool val);
void criu_set_ext_sharing(bool val);
void criu_set_ext_masters(bool val);
/* Command that criu executes after a restore, as the parent of the restored root. */
int criu_set_exec_cmd(int argc, char* argv[]);
int criu_add_ext_mount(const char* key, const char* val);
int criu_add_veth_pair(const char* in, const char* out);
/* `ctrl` may be NULL: all controllers. */
int criu_add_cg_root(const char* ctrl, const char* path);
int criu_add_enable_fs(const char* fs);
int criu_add_skip_mnt(const char* mnt);
/* Bytes. */
void criu_set_ghost_limit(unsigned int limit);
int criu_add_irmap_path(const char* path);
/* A descriptor that criu inherits, so it mustn't be close-on-exec. For criu_restore_child() and CRIU_COMM_BIN. */
int criu_add_inherit_fd(int fd, const char* key);
int criu_add_external(const char* key);
/* "PLUGIN.NAME=VALUE", as for --plugin-option. */
int criu_add_plugin_option(const char* option);
int criu_set_page_server_address_port(const char* address, int port);
int criu_set_pre_dump_mode(enum criu_pre_dump_mode mode);
/* An unbound Unix datagram socket that keeps pidfds between pre-dumps. */
void criu_set_pidfd_store_sk(int sk);
int criu_set_network_lock(enum criu_network_lock_method method);
/* `extra_opt` may be NULL. */
int criu_join_ns_add(const char* ns, const char* ns_file, const char* extra_opt);
void criu_set_mntns_compat_mode(bool val);
/* CLONE_NEWNET, or 0. */
void criu_set_empty_ns(int namespaces);

/* Sets a callback for stages of a dump or restore ("pre-dump", "post-restore", …). criu waits for its return. After
 * 0 criu continues; another value makes the request fail with it. */
void criu_set_notify_cb(int (*cb)(char* action, criu_notify_arg_t na));
/* Returns the pid of the restored root, 0 if the notification has none. */
int criu_notify_pid(criu_notify_arg_t na);
/* Returns the master of a restored terminal, which the caller then owns. Call it in the callback for
 * "orphan-pts-master". Returns -1 before the first one. All sets of options share it. */
int criu_get_orphan_pts_master_fd(void);

/* Checks that the system has the features that criu needs. Returns 0, or a negative errno. */
int criu_check(void);
/* Dumps a tree and ends it unless leave_running is set. Without criu_set_pid() it dumps the caller's tree: the call
 * returns 0 in the caller if it was left running, and 1 in the restored process. */
int criu_dump(void);
/* Writes the memory of a tree, which continues to run. */
int criu_pre_dump(void);
/* Restores a tree. Returns the pid of the restored root. */
int criu_restore(void);
/* Restores a tree as a child of the caller, which must wait for it. The library starts criu for this request,
 * regardless of the connection. */
int criu_restore_child(void);
/* Pre-dumps as often as `more` returns a positive number. 0 makes a final dump; a negative number ends the iteration
 * and is returned. Needs criu_set_pid(). */
int criu_dump_iters(int (*more)(criu_predump_info pi));

/* Returns 30100 for criu 3.1, 40202 for 4.2.2. A version between releases counts as the next release. */
int criu_get_version(void);
/* Returns 1 if criu is at least this version, 0 if not, a negative errno after a failure. */
int criu_check_version(int minimum);

/* Features to check; the call leaves those set that criu supports here. */
struct criu_feature_check {
    bool mem_track;
    bool lazy_pages;
    bool pidfd_store;
};

/* `size`: size of the structure in the caller's headers. Returns -1 if it is larger than the library's. */
int criu_feature_check(struct criu_feature_check* features, size_t size);

/* Variants of the functions above with options of the caller. */
void criu_local_set_pid(criu_opts* opts, int pid);
void criu_local_set_images_dir_fd(criu_opts* opts, int fd);
void criu_local_set_work_dir_fd(criu_opts* opts, int fd);
int criu_local_set_parent_images(criu_opts* opts, const char* path);
int criu_local_set_log_file(criu_opts* opts, const char* log_file);
void criu_local_set_log_level(criu_opts* opts, int log_level);
int criu_local_set_config_file(criu_opts* opts, const char* path);
void criu_local_set_leave_running(criu_opts* opts, bool leave_running);
void criu_local_set_ext_unix_sk(criu_opts* opts, bool ext_unix_sk);
int criu_local_add_unix_sk(criu_opts* opts, unsigned int inode);
void criu_local_set_tcp_established(criu_opts* opts, bool tcp_established);
void criu_local_set_tcp_skip_in_flight(criu_opts* opts, bool tcp_skip_in_flight);
void criu_local_set_tcp_close(criu_opts* opts, bool tcp_close);
void criu_local_set_weak_sysctls(criu_opts* opts, bool val);
void criu_local_set_evasive_devices(criu_opts* opts, bool evasive_devices);
void criu_local_set_shell_job(criu_opts* opts, bool shell_job);
void criu_local_set_skip_file_rwx_check(criu_opts* opts, bool skip_file_rwx_check);
void criu_local_set_unprivileged(criu_opts* opts, bool unprivileged);
void criu_local_set_orphan_pts_master(criu_opts* opts, bool orphan_pts_master);
void criu_local_set_file_locks(criu_opts* opts, bool file_locks);
void criu_local_set_track_mem(criu_opts* opts, bool track_mem);
void criu_local_set_auto_dedup(criu_opts* opts, bool auto_dedup);
void criu_local_set_force_irmap(criu_opts* opts, bool force_irmap);
void criu_local_set_link_remap(criu_opts* opts, bool link_remap);
void criu_local_set_cpu_cap(criu_opts* opts, unsigned int cap);
int criu_local_set_root(criu_opts* opts, const char* root);
void criu_local_set_manage_cgroups(criu_opts* opts, bool manage);
void criu_local_set_manage_cgroups_mode(criu_opts* opts, enum criu_cg_mode mode);
int criu_local_set_freeze_cgroup(criu_opts* opts, const char* name);
int criu_local_set_lsm_profile(criu_opts* opts, const char* name);
int criu_local_set_lsm_mount_context(criu_opts* opts, const char* name);
void criu_local_set_timeout(criu_opts* opts, unsigned int timeout);
void criu_local_set_auto_ext_mnt(criu_opts* opts, bool val);
void criu_local_set_ext_sharing(criu_opts* opts, bool val);
void criu_local_set_ext_masters(criu_opts* opts, bool val);
int criu_local_set_exec_cmd(criu_opts* opts, int argc, char* argv[]);
int criu_local_add_ext_mount(criu_opts* opts, const char* key, const char* val);
int criu_local_add_veth_pair(criu_opts* opts, const char* in, const char* out);
int criu_local_add_cg_root(criu_opts* opts, const char* ctrl, const char* path);
int criu_local_add_enable_fs(criu_opts* opts, const char* fs);
int criu_local_add_skip_mnt(criu_opts* opts, const char* mnt);
void criu_local_set_ghost_limit(criu_opts* opts, unsigned int limit);
int criu_local_add_irmap_path(criu_opts* opts, const char* path);
int criu_local_add_cg_props(criu_opts* opts, const char* stream);
int criu_local_add_cg_props_file(criu_opts* opts, const char* path);
int criu_local_add_cg_dump_controller(criu_opts* opts, const char* name);
int criu_local_add_cg_yard(criu_opts* opts, const char* path);
int criu_local_add_inherit_fd(criu_opts* opts, int fd, const char* key);
int criu_local_add_external(criu_opts* opts, const char* key);
int criu_local_add_plugin_option(criu_opts* opts, const char* option);
int criu_local_set_page_server_address_port(criu_opts* opts, const char* address, int port);
int criu_local_set_pre_dump_mode(criu_opts* opts, enum criu_pre_dump_mode mode);
void criu_local_set_pidfd_store_sk(criu_opts* opts, int sk);
int criu_local_set_network_lock(criu_opts* opts, enum criu_network_lock_method method);
int criu_local_join_ns_add(criu_opts* opts, const char* ns, const char* ns_file, const char* extra_opt);
void criu_local_set_mntns_compat_mode(criu_opts* opts, bool val);
void criu_local_set_empty_ns(criu_opts* opts, int namespaces);
void criu_local_set_notify_cb(criu_opts* opts, int (*cb)(char* action, criu_notify_arg_t na));

int criu_local_check(criu_opts* opts);
int criu_local_dump(criu_opts* opts);
int criu_local_pre_dump(criu_opts* opts);
int criu_local_restore(criu_opts* opts);
int criu_local_restore_child(criu_opts* opts);
int criu_local_dump_iters(criu_opts* opts, int (*more)(criu_predump_info pi));
int criu_local_get_version(criu_opts* opts);
int criu_local_check_version(criu_opts* opts, int minimum);
int criu_local_feature_check(criu_opts* opts, struct criu_feature_check* features, size_t size);

/* Version of this library, for example "4.2". */
extern const char* criu_lib_version;

/* Functions that the libcriu of CRIU 4.2 lacks. Programs that also run with it must look these up by dlsym(3). */

/* Returns criu's reason for the last failure; "" after success, or if it is unknown. Valid until the next request. */
const char* criu_get_error(void);
const char* criu_local_get_error(criu_opts* opts);

/* Replaces criu_set_images_dir_fd(); used only while the descriptor is unset or -1. */
int criu_set_images_dir(const char* path);
void criu_set_leave_stopped(bool leave_stopped);
void criu_set_display_stats(bool display_stats);
void criu_set_log_to_stderr(bool log_to_stderr);
/* Restores pipes to processes outside of the tree with a closed other end, unless criu_add_inherit_fd() gives them. */
void criu_set_allow_loss(bool allow_loss);
/* Makes a dump refuse to lose state of a program, except of the added kinds. */
void criu_set_no_loss(bool no_loss);
int criu_add_allow_loss(const char* kind);
/* Makes a dump write checksums of its images. A restore compares them unless this is false. */
void criu_set_checksum(bool checksum);
/* Makes a dump write its images to the disk before it succeeds, or not. The default: before it ends the processes. */
void criu_set_sync(bool sync);
/* Makes a dump with leave_running resume the tree before its memory is written; the limit is in bytes. */
void criu_set_background(bool background);
void criu_set_background_memory(uint64_t bytes);
/* Compresses memory of a dump by LZ4 unless the value is 0: acceleration, and bytes of a block. */
void criu_set_compress(unsigned int compress);
void criu_set_compress_acceleration(unsigned int acceleration);
void criu_set_compress_region_size(uint64_t bytes);
/* Limits the threads that read the memory of one process in a restore; 0 for all processors. */
void criu_set_decompress_threads(unsigned int threads);
/* Reads and writes memory in images without the page cache. */
void criu_set_image_io_direct(bool direct);
void criu_set_map_pages(bool map_pages);
void criu_set_notify_mounts(bool notify_mounts);
/* Restores a tree without a private pid namespace in a new one. */
void criu_set_new_pidns(bool new_pidns);
/* Sends images to, or reads them from, criu-image-streamer or an inherited descriptor. The limit is memory for them,
 * such as "4G". */
void criu_set_stream(bool stream);
void criu_set_stream_to(int fd);
void criu_set_stream_from(int fd);
int criu_set_stream_memory(const char* size);
/* Encrypts a dump's images for a public key (age1..., or a file of keys), or decrypts images of a restore. criu
 * inherits the descriptors of secret keys. */
int criu_add_encrypt(const char* key);
void criu_set_decrypt(int fd);
void criu_set_sign(int fd);
int criu_set_signed_by(const char* path);
/* Limits of what images may ask for in a restore; 0 means no limit. The memory is a size such as "4G". */
int criu_set_max_memory(const char* size);
void criu_set_max_files(uint64_t count);
void criu_set_max_processes(uint64_t count);
/* Kills a restored tree if a client doesn't consent within this time at each stage up to pre-resume. */
void criu_set_hold_timeout(unsigned int seconds);
/* Restores images whose author isn't trusted: only in private namespaces. The uids and gids of the host are FROM-TO. */
int criu_set_untrusted(const char* ids);
/* Restores sockets with another address: OLD=NEW, addresses or prefixes. */
int criu_add_inet_map(const char* mapping);
void criu_set_lazy_pages(bool lazy_pages);
/* Descriptor of the caller for the byte that reports that a page server is ready. */
void criu_set_status_fd(int fd);
/* A connection to a page server, instead of an address; criu inherits it. */
int criu_set_page_server_fd(int fd);
void criu_set_tls(bool tls);
void criu_set_tls_no_cn_verify(bool tls_no_cn_verify);
int criu_set_tls_peer(const char* name);
int criu_set_tls_cacert(const char* path);
int criu_set_tls_cacrl(const char* path);
int criu_set_tls_cert(const char* path);
int criu_set_tls_key(const char* path);
int criu_add_cg_props(const char* stream);
int criu_add_cg_props_file(const char* path);
int criu_add_cg_dump_controller(const char* name);
int criu_add_cg_yard(const char* path);

int criu_local_set_images_dir(criu_opts* opts, const char* path);
void criu_local_set_leave_stopped(criu_opts* opts, bool leave_stopped);
void criu_local_set_display_stats(criu_opts* opts, bool display_stats);
void criu_local_set_log_to_stderr(criu_opts* opts, bool log_to_stderr);
void criu_local_set_allow_loss(criu_opts* opts, bool allow_loss);
void criu_local_set_no_loss(criu_opts* opts, bool no_loss);
int criu_local_add_allow_loss(criu_opts* opts, const char* kind);
void criu_local_set_checksum(criu_opts* opts, bool checksum);
void criu_local_set_sync(criu_opts* opts, bool sync);
void criu_local_set_background(criu_opts* opts, bool background);
void criu_local_set_compress(criu_opts* opts, unsigned int compress);
void criu_local_set_compress_acceleration(criu_opts* opts, unsigned int acceleration);
void criu_local_set_compress_region_size(criu_opts* opts, uint64_t bytes);
void criu_local_set_decompress_threads(criu_opts* opts, unsigned int threads);
void criu_local_set_image_io_direct(criu_opts* opts, bool direct);
void criu_local_set_map_pages(criu_opts* opts, bool map_pages);
void criu_local_set_notify_mounts(criu_opts* opts, bool notify_mounts);
void criu_local_set_new_pidns(criu_opts* opts, bool new_pidns);
void criu_local_set_background_memory(criu_opts* opts, uint64_t bytes);
void criu_local_set_stream(criu_opts* opts, bool stream);
void criu_local_set_stream_to(criu_opts* opts, int fd);
void criu_local_set_stream_from(criu_opts* opts, int fd);
int criu_local_set_stream_memory(criu_opts* opts, const char* size);
int criu_local_set_max_memory(criu_opts* opts, const char* size);
void criu_local_set_max_files(criu_opts* opts, uint64_t count);
void criu_local_set_max_processes(criu_opts* opts, uint64_t count);
void criu_local_set_hold_timeout(criu_opts* opts, unsigned int seconds);
int criu_local_set_untrusted(criu_opts* opts, const char* ids);
int criu_local_add_encrypt(criu_opts* opts, const char* key);
void criu_local_set_decrypt(criu_opts* opts, int fd);
void criu_local_set_sign(criu_opts* opts, int fd);
int criu_local_set_signed_by(criu_opts* opts, const char* path);
int criu_local_add_inet_map(criu_opts* opts, const char* mapping);
void criu_local_set_lazy_pages(criu_opts* opts, bool lazy_pages);
void criu_local_set_status_fd(criu_opts* opts, int fd);
int criu_local_set_page_server_fd(criu_opts* opts, int fd);
void criu_local_set_tls(criu_opts* opts, bool tls);
void criu_local_set_tls_no_cn_verify(criu_opts* opts, bool tls_no_cn_verify);
int criu_local_set_tls_peer(criu_opts* opts, const char* name);
int criu_local_set_tls_cacert(criu_opts* opts, const char* path);
int criu_local_set_tls_cacrl(criu_opts* opts, const char* path);
int criu_local_set_tls_cert(criu_opts* opts, const char* path);
int criu_local_set_tls_key(criu_opts* opts, const char* path);

#ifdef __cplusplus
}
#endif

#endif /* CRIU_LIB_H */
