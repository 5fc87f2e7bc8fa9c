/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef CRIU_LIB_H
#define CRIU_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc.pb-c.h"

/*
 * libcriu: dump and restore processes from a program. The library starts `criu swrk`, or talks to a `criu service`, and
 * sends it requests; nothing of criu runs in the calling process.
 *
 *     criu_init_opts();
 *     criu_set_images_dir_fd(open("images", O_RDONLY | O_DIRECTORY));
 *     criu_set_pid(pid);
 *     if (criu_dump() < 0)
 *             fprintf(stderr, "%s\n", criu_get_error());
 *
 * There is one set of options that functions without "local" use, and there may be any number of others, each with its
 * way to criu. Options of which one is set by a thread while another thread sends a request with them are in a race;
 * different sets don't know of each other. Texts are copied. What is set stays set for further requests.
 *
 * A function that sends a request returns a negative errno when it fails:
 *
 *     -EBADE         criu says that it didn't work: criu_get_error() has the reason, and so has criu's log
 *     -ECONNREFUSED  criu couldn't be started, or nobody listens at the socket
 *     -ECOMM         the connection broke
 *     -EINVAL        criu doesn't know this request
 *     -EBADMSG       criu's answer is none to this request
 *
 * and errno says more then, if more is known: of -EBADE ESRCH (no process to dump), EEXIST (a pid to restore is in use)
 * or EBADRQC (the options are wrong); else it is 0.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* How criu is reached. */
enum criu_service_comm {
    CRIU_COMM_SK,  /* a service at the path of a socket */
    CRIU_COMM_FD,  /* a connection that is open already */
    CRIU_COMM_BIN, /* criu is started for each request */
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

/* What holds packets back while a tree is being dumped. */
enum criu_network_lock_method {
    CRIU_NETWORK_LOCK_IPTABLES = 1,
    CRIU_NETWORK_LOCK_NFTABLES = 2,
    CRIU_NETWORK_LOCK_SKIP = 3,
};

/* How a pre-dump reads memory. */
enum criu_pre_dump_mode {
    CRIU_PRE_DUMP_SPLICE = 1,
    CRIU_PRE_DUMP_READ = 2,
};

/* How much criu writes into its log. */
enum criu_log_level {
    CRIU_LOG_UNSET = -1,
    CRIU_LOG_MSG = 0,
    CRIU_LOG_ERROR = 1,
    CRIU_LOG_WARN = 2,
    CRIU_LOG_INFO = 3,
    CRIU_LOG_DEBUG = 4,
};

/* A set of options and a way to criu. */
typedef struct criu_opts criu_opts;

/* A notification; its content is the message criu_notify. */
typedef CriuNotify* criu_notify_arg_t;

/* What is known of a pre-dump: nothing yet. */
typedef void* criu_predump_info;

/* Makes the options afresh; to be called before anything else. The way to criu is the program "criu" in $PATH. Returns
 * 0, or -1 without memory. criu_local_init_opts() frees what *opts holds before, so it must be NULL at first. */
int criu_init_opts(void);
int criu_local_init_opts(criu_opts** opts);
/* Frees them; NULL is allowed. */
void criu_free_opts(void);
void criu_local_free_opts(criu_opts* opts);

/* The way to criu. A path may be NULL: "./criu_service.socket", and "criu" in $PATH. The descriptor is a connected
 * socket of type SOCK_SEQPACKET; the library closes it after one request. The functions that return something return 0,
 * or -ENOMEM. */
int criu_set_service_address(const char* path);
void criu_set_service_fd(int fd);
int criu_set_service_binary(const char* path);
int criu_local_set_service_address(criu_opts* opts, const char* path);
void criu_local_set_service_fd(criu_opts* opts, int fd);
int criu_local_set_service_binary(criu_opts* opts, const char* path);
/* Frees the path that the way to criu holds; done by the functions above and criu_local_free_opts(). */
void criu_free_service(criu_opts* opts);

/*
 * Options: criu(8) says under the same name what each does. Those that return something return 0, or a negative number:
 * there is no memory, or the value isn't allowed; the option is as before then.
 */

/* The root of the tree to dump. Unset: the caller itself, see criu_dump(). */
void criu_set_pid(int pid);
/* Open directories, for images and for logs (unset: that of the images). criu opens them again itself. */
void criu_set_images_dir_fd(int fd);
void criu_set_work_dir_fd(int fd);
/* Earlier images, relative to the images directory. */
int criu_set_parent_images(const char* path);
/* A name without slashes, and an enum criu_log_level. */
int criu_set_log_file(const char* log_file);
void criu_set_log_level(int log_level);
/* Read after everything else that is set here, and before which everything else gives way. */
int criu_set_config_file(const char* path);
void criu_set_leave_running(bool leave_running);
void criu_set_ext_unix_sk(bool ext_unix_sk);
/* Sets ext_unix_sk; -1 if that was set to false. */
int criu_add_unix_sk(unsigned int inode);
void criu_set_tcp_established(bool tcp_established);
void criu_set_tcp_skip_in_flight(bool tcp_skip_in_flight);
void criu_set_tcp_close(bool tcp_close);
void criu_set_weak_sysctls(bool val);
void criu_set_evasive_devices(bool evasive_devices);
void criu_set_shell_job(bool shell_job);
void criu_set_skip_file_rwx_check(bool skip_file_rwx_check);
void criu_set_unprivileged(bool unprivileged);
/* criu passes masters of terminals that nobody in the tree has; see criu_get_orphan_pts_master_fd(). */
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
/* What criu becomes after a restore, as the parent of the restored root. */
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
/* A descriptor that is inherited by criu, so it mustn't be close-on-exec: for criu_restore_child() and CRIU_COMM_BIN.
 */
int criu_add_inherit_fd(int fd, const char* key);
int criu_add_external(const char* key);
int criu_set_page_server_address_port(const char* address, int port);
int criu_set_pre_dump_mode(enum criu_pre_dump_mode mode);
/* A Unix datagram socket, not bound, that keeps pidfds from one pre-dump to the next. */
void criu_set_pidfd_store_sk(int sk);
int criu_set_network_lock(enum criu_network_lock_method method);
/* `extra_opt` may be NULL. */
int criu_join_ns_add(const char* ns, const char* ns_file, const char* extra_opt);
void criu_set_mntns_compat_mode(bool val);
/* CLONE_NEWNET, or 0. */
void criu_set_empty_ns(int namespaces);

/* Is called at the stages of a dump or restore ("pre-dump", "post-restore", …); criu waits for it. 0 lets it go on;
 * anything else makes it fail, and is what the function that sent the request returns. */
void criu_set_notify_cb(int (*cb)(char* action, criu_notify_arg_t na));
/* The pid of the restored root, 0 if this notification has none. */
int criu_notify_pid(criu_notify_arg_t na);
/* In the callback for "orphan-pts-master": the master of a restored terminal, which the caller owns from then on. -1 as
 * long as there was none. There is one for all sets of options. */
int criu_get_orphan_pts_master_fd(void);

/* Whether this system has what criu needs: 0, or negative. */
int criu_check(void);
/* Dumps a tree, which is gone then unless leave_running is set. Without criu_set_pid() it is that of the caller: the
 * call returns 0 when images have been written and the caller was left running, and 1 in the restored process. */
int criu_dump(void);
/* Writes the memory of a tree, which goes on. */
int criu_pre_dump(void);
/* Returns the pid of the restored root. */
int criu_restore(void);
/* The same, as a child of the caller, who has to wait for it. criu is started for it, whatever the way to it is. */
int criu_restore_child(void);
/* Pre-dumps as often as `more` wants it: positive for another one, 0 for the dump that ends it, negative to leave off,
 * which is returned. Needs criu_set_pid(). */
int criu_dump_iters(int (*more)(criu_predump_info pi));

/* 30100 for criu 3.1, 40202 for 4.2.2. Of a version between releases the next one's. */
int criu_get_version(void);
/* 1 if criu is of this version or a later one, 0 if not, negative if it couldn't be asked. */
int criu_check_version(int minimum);

/* Set: what is asked for; after the call: what criu can do here. */
struct criu_feature_check {
    bool mem_track;
    bool lazy_pages;
    bool pidfd_store;
};

/* `size` of the structure as the caller knows it. -1 if that is larger than the library's. */
int criu_feature_check(struct criu_feature_check* features, size_t size);

/* The same with options of the caller's. */
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

/* Of this library, e.g. "4.2". */
extern const char* criu_lib_version;

/*
 * From here on: not in the libcriu of CRIU 4.2. Programs that are to run with it as well look these up with dlsym(3).
 */

/* Why the last request failed, in criu's words; "" if it didn't, or nothing is known. Valid until the next request. */
const char* criu_get_error(void);
const char* criu_local_get_error(criu_opts* opts);

/* Instead of criu_set_images_dir_fd(): counts only while that is unset or -1. */
int criu_set_images_dir(const char* path);
void criu_set_leave_stopped(bool leave_stopped);
void criu_set_display_stats(bool display_stats);
void criu_set_log_to_stderr(bool log_to_stderr);
/* Restores what led out of the tree, and isn't given by criu_add_inherit_fd(), with nobody at the other end. */
void criu_set_allow_loss(bool allow_loss);
/* A dump writes checksums of its images, and a restore compares them (which it does unless this says no). */
void criu_set_checksum(bool checksum);
/* A dump with leave_running lets the tree go on before its memory is written; the limit is in bytes. */
void criu_set_background(bool background);
void criu_set_background_memory(uint64_t bytes);
void criu_set_map_pages(bool map_pages);
/* A tree that had no pid namespace for itself is restored in a new one. */
void criu_set_new_pidns(bool new_pidns);
/* Images go to, or come from, criu-image-streamer; or a descriptor that criu inherits; memory for that, such as "4G".
 */
void criu_set_stream(bool stream);
void criu_set_stream_to(int fd);
void criu_set_stream_from(int fd);
int criu_set_stream_memory(const char* size);
/* A dump encrypts its images for a public key (age1..., or a file of keys); a restore decrypts them. Secret keys are
 * files that criu inherits. */
int criu_add_encrypt(const char* key);
void criu_set_decrypt(int fd);
void criu_set_sign(int fd);
int criu_set_signed_by(const char* path);
void criu_set_lazy_pages(bool lazy_pages);
/* A descriptor of the caller for the byte that says that a server of pages is ready. */
void criu_set_status_fd(int fd);
/* A connection with a page server instead of its address; inherited by criu. */
int criu_set_page_server_fd(int fd);
void criu_set_tls(bool tls);
void criu_set_tls_no_cn_verify(bool tls_no_cn_verify);
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
void criu_local_set_checksum(criu_opts* opts, bool checksum);
void criu_local_set_background(criu_opts* opts, bool background);
void criu_local_set_map_pages(criu_opts* opts, bool map_pages);
void criu_local_set_new_pidns(criu_opts* opts, bool new_pidns);
void criu_local_set_background_memory(criu_opts* opts, uint64_t bytes);
void criu_local_set_stream(criu_opts* opts, bool stream);
void criu_local_set_stream_to(criu_opts* opts, int fd);
void criu_local_set_stream_from(criu_opts* opts, int fd);
int criu_local_set_stream_memory(criu_opts* opts, const char* size);
int criu_local_add_encrypt(criu_opts* opts, const char* key);
void criu_local_set_decrypt(criu_opts* opts, int fd);
void criu_local_set_sign(criu_opts* opts, int fd);
int criu_local_set_signed_by(criu_opts* opts, const char* path);
void criu_local_set_lazy_pages(criu_opts* opts, bool lazy_pages);
void criu_local_set_status_fd(criu_opts* opts, int fd);
int criu_local_set_page_server_fd(criu_opts* opts, int fd);
void criu_local_set_tls(criu_opts* opts, bool tls);
void criu_local_set_tls_no_cn_verify(criu_opts* opts, bool tls_no_cn_verify);
int criu_local_set_tls_cacert(criu_opts* opts, const char* path);
int criu_local_set_tls_cacrl(criu_opts* opts, const char* path);
int criu_local_set_tls_cert(criu_opts* opts, const char* path);
int criu_local_set_tls_key(criu_opts* opts, const char* path);

#ifdef __cplusplus
}
#endif

#endif /* CRIU_LIB_H */
