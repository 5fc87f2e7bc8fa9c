/* SPDX-License-Identifier: GPL-2.0-only */
/* usage: setters FD
 * Sends a DUMP by a connected socket, with everything set that libcriu can set; for ./run, which looks at the message.
 */
#include <criu/criu.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int value, int expected, const char* what) {
    if (value == expected)
        return;
    printf("%s: %d instead of %d\n", what, value, expected);
    failures++;
}

#define OK(call) expect(call, 0, #call)

static int notified;

static int note(char* action, criu_notify_arg_t na) {
    notified += strcmp(action, "post-restore") == 0 && criu_notify_pid(na) == 77;
    return 0;
}

static void set_flags(criu_opts* opts) {
    criu_local_set_leave_running(opts, true);
    criu_local_set_tcp_established(opts, true);
    criu_local_set_tcp_skip_in_flight(opts, true);
    criu_local_set_tcp_close(opts, true);
    criu_local_set_weak_sysctls(opts, true);
    criu_local_set_evasive_devices(opts, true);
    criu_local_set_shell_job(opts, true);
    criu_local_set_skip_file_rwx_check(opts, true);
    criu_local_set_unprivileged(opts, true);
    criu_local_set_orphan_pts_master(opts, true);
    criu_local_set_file_locks(opts, true);
    criu_local_set_track_mem(opts, true);
    criu_local_set_auto_dedup(opts, true);
    criu_local_set_force_irmap(opts, true);
    criu_local_set_link_remap(opts, true);
    criu_local_set_manage_cgroups(opts, true);
    criu_local_set_auto_ext_mnt(opts, true);
    criu_local_set_ext_sharing(opts, true);
    criu_local_set_ext_masters(opts, true);
    criu_local_set_mntns_compat_mode(opts, true);
    criu_local_set_leave_stopped(opts, true);
    criu_local_set_display_stats(opts, true);
    criu_local_set_log_to_stderr(opts, true);
    criu_local_set_allow_loss(opts, true);
    criu_local_set_no_loss(opts, true);
    criu_local_set_checksum(opts, true);
    criu_local_set_sync(opts, true);
    criu_local_set_background(opts, true);
    criu_local_set_stream(opts, true);
    criu_local_set_lazy_pages(opts, true);
    criu_local_set_map_pages(opts, true);
    criu_local_set_notify_mounts(opts, true);
    criu_local_set_image_io_direct(opts, true);
    criu_local_set_new_pidns(opts, true);
    criu_local_set_tls(opts, true);
    criu_local_set_tls_no_cn_verify(opts, true);
}

static void set_values(criu_opts* opts) {
    criu_local_set_pid(opts, 11);
    criu_local_set_images_dir_fd(opts, 12);
    criu_local_set_work_dir_fd(opts, 13);
    criu_local_set_log_level(opts, CRIU_LOG_DEBUG);
    criu_local_set_cpu_cap(opts, 5);
    criu_local_set_timeout(opts, 14);
    criu_local_set_ghost_limit(opts, 15);
    criu_local_set_pidfd_store_sk(opts, 16);
    criu_local_set_status_fd(opts, 17);
    criu_local_set_background_memory(opts, UINT64_C(1) << 40);
    criu_local_set_max_files(opts, 26);
    criu_local_set_max_processes(opts, 27);
    criu_local_set_hold_timeout(opts, 28);
    criu_local_set_compress(opts, 2);
    criu_local_set_compress_acceleration(opts, 3);
    criu_local_set_compress_region_size(opts, 65536);
    criu_local_set_decompress_threads(opts, 4);
    criu_local_set_stream_to(opts, 18);
    criu_local_set_stream_from(opts, 19);
    criu_local_set_decrypt(opts, 24);
    criu_local_set_sign(opts, 25);
    criu_local_set_empty_ns(opts, CLONE_NEWNET);
    criu_local_set_manage_cgroups_mode(opts, CRIU_CG_MODE_STRICT);
    OK(criu_local_set_network_lock(opts, CRIU_NETWORK_LOCK_NFTABLES));
    OK(criu_local_set_pre_dump_mode(opts, CRIU_PRE_DUMP_READ));
    expect(criu_local_set_network_lock(opts, 9), -1, "unknown lock");
    expect(criu_local_set_pre_dump_mode(opts, 9), -1, "unknown mode");
}

static void set_texts(criu_opts* opts) {
    OK(criu_local_set_parent_images(opts, "../parent"));
    OK(criu_local_set_log_file(opts, "other.log"));
    OK(criu_local_set_log_file(opts, "x.log"));
    OK(criu_local_set_root(opts, "/root"));
    OK(criu_local_set_freeze_cgroup(opts, "/sys/fs/cgroup/x"));
    OK(criu_local_set_lsm_profile(opts, "apparmor:x"));
    OK(criu_local_set_lsm_mount_context(opts, "context"));
    OK(criu_local_set_config_file(opts, "/x.conf"));
    OK(criu_local_set_images_dir(opts, "/images"));
    OK(criu_local_set_stream_memory(opts, "4G"));
    OK(criu_local_set_max_memory(opts, "2G"));
    OK(criu_local_set_untrusted(opts, "7-8"));
    OK(criu_local_set_signed_by(opts, "/signers"));
    OK(criu_local_add_allow_loss(opts, "keys"));
    OK(criu_local_add_encrypt(opts, "age1"));
    OK(criu_local_add_inet_map(opts, "10.0.0.1=10.0.0.2"));
    OK(criu_local_set_tls_peer(opts, "peer"));
    OK(criu_local_set_tls_cacert(opts, "cacert"));
    OK(criu_local_set_tls_cacrl(opts, "cacrl"));
    OK(criu_local_set_tls_cert(opts, "cert"));
    OK(criu_local_set_tls_key(opts, "key"));
    OK(criu_local_add_cg_props(opts, "props"));
    OK(criu_local_add_cg_props_file(opts, "props.file"));
    OK(criu_local_add_cg_yard(opts, "/yard"));
}

static void set_lists(criu_opts* opts) {
    char* command[] = {"echo", "a b", NULL};

    for (int i = 0; i < 2; i++) {
        OK(criu_local_add_enable_fs(opts, "fs"));
        OK(criu_local_add_skip_mnt(opts, "/mnt"));
        OK(criu_local_add_irmap_path(opts, "/irmap"));
        OK(criu_local_add_external(opts, "mnt[]"));
        OK(criu_local_add_plugin_option(opts, "cuda_plugin.timeout=9"));
        OK(criu_local_add_cg_dump_controller(opts, "cpu"));
        OK(criu_local_add_ext_mount(opts, "key", "val"));
        OK(criu_local_add_veth_pair(opts, "in", "out"));
        OK(criu_local_add_inherit_fd(opts, 21, "pipe:[1]"));
        OK(criu_local_add_unix_sk(opts, 22));
    }
    OK(criu_local_add_cg_root(opts, "cpu", "/a"));
    OK(criu_local_add_cg_root(opts, NULL, "/b"));
    OK(criu_local_join_ns_add(opts, "net", "/proc/1/ns/net", NULL));
    OK(criu_local_join_ns_add(opts, "user", "/proc/1/ns/user", "1,2"));
    OK(criu_local_set_exec_cmd(opts, 1, command));
    OK(criu_local_set_exec_cmd(opts, 2, command));
    OK(criu_local_set_page_server_address_port(opts, "1.2.3.4", 99));
    OK(criu_local_set_page_server_fd(opts, 23));
    expect(criu_local_join_ns_add(opts, NULL, "x", NULL) < 0, 1, "no kind of namespace");
    expect(criu_local_add_cg_root(opts, "cpu", NULL) < 0, 1, "no path");
}

int main(int argc, char* argv[]) {
    criu_opts* opts = NULL;

    if (argc != 2 || criu_local_init_opts(&opts))
        return 2;
    criu_local_set_ext_unix_sk(opts, false);
    expect(criu_local_add_unix_sk(opts, 1), -1, "an inode where none is allowed");
    criu_local_set_ext_unix_sk(opts, true);
    set_flags(opts);
    set_values(opts);
    set_texts(opts);
    set_lists(opts);
    criu_local_set_notify_cb(opts, note);
    criu_local_set_service_fd(opts, atoi(argv[1]));
    expect(criu_local_dump(opts), -EBADE, "dump");
    expect(errno, ESRCH, "errno");
    expect(strcmp(criu_local_get_error(opts), "no such thing"), 0, criu_local_get_error(opts));
    expect(notified, 1, "notified");
    /* The connection was for one request. */
    expect(criu_local_dump(opts), -ECONNREFUSED, "dump without a connection");
    expect(strncmp(criu_local_get_error(opts), "the descriptor of", 17), 0, criu_local_get_error(opts));
    criu_local_set_service_binary(opts, "no-such-criu");
    expect(criu_local_dump(opts), -ECONNREFUSED, "dump without criu");
    expect(errno, ENOENT, "errno without criu");
    expect(strncmp(criu_local_get_error(opts), "start no-such-criu: No such file", 32), 0, criu_local_get_error(opts));
    criu_local_set_service_address(opts, "no-such-socket");
    expect(criu_local_dump(opts), -ECONNREFUSED, "dump without a service");
    expect(!!strstr(criu_local_get_error(opts), "no-such-socket: No such file"), 1, criu_local_get_error(opts));
    criu_local_free_opts(opts);
    return failures != 0;
}
