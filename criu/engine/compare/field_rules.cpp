// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/field_rules.hpp"

#include <array>

namespace criu::engine {
namespace {

constexpr std::string_view kOfTheRun = "describes the run of criu";
constexpr std::string_view kOfTheWire = "connections exchange segments even if the processes are stopped";
constexpr std::string_view kNewInode = "a restore creates the file again";

constexpr auto kFieldRules = [] {
    using enum FieldRule::Kind;
    using enum IdClass;
    return std::to_array<FieldRule>({
        // processes
        {"task_kobj_ids_entry", "vm_id", Id, AddressSpace},
        {"task_kobj_ids_entry", "files_id", Id, Descriptors},
        {"task_kobj_ids_entry", "fs_id", Id, Paths},
        {"task_kobj_ids_entry", "sighand_id", Id, SignalActions},
        {"task_kobj_ids_entry", "pid_ns_id", Id, Namespace},
        {"task_kobj_ids_entry", "net_ns_id", Id, Namespace},
        {"task_kobj_ids_entry", "ipc_ns_id", Id, Namespace},
        {"task_kobj_ids_entry", "uts_ns_id", Id, Namespace},
        {"task_kobj_ids_entry", "mnt_ns_id", Id, Namespace},
        {"task_kobj_ids_entry", "user_ns_id", Id, Namespace},
        {"task_kobj_ids_entry", "cgroup_ns_id", Id, Namespace},
        {"task_kobj_ids_entry", "time_ns_id", Id, Namespace},
        {"task_kobj_ids_entry", "time_for_children_ns_id", Id, Namespace},
        {"task_kobj_ids_entry", "pid_for_children_ns_id", Id, Namespace},
        {"task_core_entry", "cg_set", Id, CgroupSet},
        {"task_core_entry", "flags", Unchecked, File, "flags of the kernel, which can't be set"},
        {"", "xstate_bv", Unchecked, File, "the processor may mark a component with initial values as used"},
        {"thread_core_entry", "cg_set", Id, CgroupSet},
        {"thread_core_entry", "seccomp_filter", Id, SeccompFilter},
        {"thread_core_entry", "fs_id", Id, Paths},
        {"thread_core_entry", "sysvsem_id", Id, UndoList},
        {"seccomp_filter", "prev", Id, SeccompFilter},
        {"posix_timer_entry", "it_id", Key, File, "timer"},
        {"tcp_stream_entry", "timestamp", Unchecked, File, kOfTheWire},
        {"tcp_stream_entry", "snd_wl1", Unchecked, File, kOfTheWire},
        {"tcp_stream_entry", "snd_wnd", Unchecked, File, kOfTheWire},
        {"tcp_stream_entry", "max_window", Unchecked, File, kOfTheWire},
        {"tcp_stream_entry", "rcv_wnd", Unchecked, File, kOfTheWire},
        {"tcp_stream_entry", "rcv_wup", Unchecked, File, kOfTheWire},
        {"pstree_entry", "threads", Unchecked, File, "CheckpointComparison compares threads by their tids"},
        {"fs_entry", "cwd_id", Id, File},
        {"fs_entry", "root_id", Id, File},
        {"mm_entry", "exe_file_id", Id, File},
        {"vma_entry", "start", Key, File, "mapping"},
        {"vma_entry", "exclusive", Unchecked, File, "tells if pages are shared copy-on-write, which no program sees"},
        {"", "orig_ax", OrMinusOne, File, "a restored thread has left a system call that doesn't begin again"},
        {"aio_ring_entry", "id", Key, File, "AIO context"},
        // files
        {"fdinfo_entry", "fd", Key, File, "fd"},
        {"fdinfo_entry", "id", Id, File},
        {"file_entry", "id", Id, File},
        {"reg_file_entry", "id", Id, File},
        {"reg_file_entry", "mnt_id", Id, Mount},
        {"reg_file_entry", "born", Unchecked, File, kNewInode},
        {"inet_sk_entry", "id", Id, File},
        {"inet_sk_entry", "ino", Id, Socket},
        {"inet_sk_entry", "ns_id", Id, Namespace},
        {"ns_file_entry", "id", Id, File},
        {"ns_file_entry", "ns_id", Id, Namespace},
        {"packet_sock_entry", "id", Id, File},
        {"packet_sock_entry", "ns_id", Id, Namespace},
        {"netlink_sk_entry", "id", Id, File},
        {"netlink_sk_entry", "ino", Id, Socket},
        {"netlink_sk_entry", "ns_id", Id, Namespace},
        {"vsock_sk_entry", "id", Id, File},
        {"vsock_sk_entry", "ns_id", Id, Namespace},
        {"sk_more_opt", "level", Key, File, "option"},
        {"sk_more_opt", "name", Key, File, "option"},
        {"eventfd_file_entry", "id", Id, File},
        {"eventpoll_file_entry", "id", Id, File},
        {"eventpoll_tfd_entry", "id", Id, File},
        {"eventpoll_tfd_entry", "tfd", Key, File, "target fd"},
        {"signalfd_entry", "id", Id, File},
        {"tunfile_entry", "id", Id, File},
        {"tunfile_entry", "ns_id", Id, Namespace},
        {"timerfd_entry", "id", Id, File},
        {"inotify_file_entry", "id", Id, File},
        {"inotify_wd_entry", "id", Id, File},
        {"inotify_wd_entry", "wd", Key, File, "watch"},
        {"fanotify_file_entry", "id", Id, File},
        {"fanotify_mark_entry", "id", Id, File},
        {"fanotify_mount_mark_entry", "mnt_id", Id, Mount},
        {"fh_entry", "mnt_id", Id, Mount},
        {"fh_entry", "bytes", Unchecked, File, kNewInode},
        {"fh_entry", "type", Unchecked, File, kNewInode},
        {"fh_entry", "handle", Unchecked, File, kNewInode},
        {"ext_file_entry", "id", Id, File},
        {"unix_sk_entry", "id", Id, File},
        {"unix_sk_entry", "ino", Id, Socket},
        {"unix_sk_entry", "peer", Id, Socket},
        {"unix_sk_entry", "ns_id", Id, Namespace},
        {"unix_sk_entry", "peer_pid", Unchecked, File,
         "the kernel stores the pid of the process that restored the peer"},
        {"unix_sk_entry", "mnt_id", Id, Mount},
        {"sk_packet_entry", "id_for", Id, File},
        {"scm_entry", "rights", Id, File},
        {"fifo_entry", "id", Id, File},
        {"fifo_entry", "pipe_id", Id, Pipe},
        {"fifo_entry", "regf_id", Id, File},
        {"pipe_entry", "id", Id, File},
        {"pipe_entry", "pipe_id", Id, Pipe},
        {"pipe_data_entry", "pipe_id", Id, Pipe},
        {"tty_file_entry", "id", Id, File},
        {"tty_file_entry", "tty_info_id", Id, Terminal},
        {"tty_file_entry", "regf_id", Id, File},
        {"tty_info_entry", "id", Id, Terminal},
        {"tty_info_entry", "dev", Id, FileSystem},
        {"tty_data_entry", "tty_id", Id, Terminal},
        {"memfd_file_entry", "id", Id, File},
        {"memfd_file_entry", "inode_id", Id, Memfd},
        {"memfd_inode_entry", "inode_id", Id, Memfd},
        {"memfd_inode_entry", "shmid", Id, SharedMemory},
        {"bpfmap_file_entry", "id", Id, File},
        {"bpfmap_file_entry", "map_id", Id, BpfMap},
        {"bpfmap_file_entry", "mnt_id", Id, Mount},
        {"bpfmap_data_entry", "map_id", Id, BpfMap},
        {"pidfd_entry", "id", Id, File},
        {"pidfd_entry", "ino", Id, PidfdTarget},
        {"io_uring_entry", "id", Id, File},
        {"io_uring_entry", "eventfd_id", Id, File},
        {"io_uring_thread", "ring", Id, File},
        {"io_uring_file", "slot", Key, File, "registered file"},
        {"io_uring_file", "file_id", Id, File},
        {"posix_queue_file_entry", "id", Id, File},
        {"remap_file_path_entry", "orig_id", Id, File},
        {"ghost_file_entry", "dev", Unchecked, File, kNewInode},
        {"ghost_file_entry", "ino", Unchecked, File, kNewInode},
        {"ghost_file_entry", "atim", Unchecked, File, "a mapping of the file changes it"},
        {"ghost_file_entry", "chunks", Unchecked, File, "form of the content in the image"},
        {"file_lock_entry", "pid", Key, File, "lock of process"},
        {"file_lock_entry", "fd", Key, File, "lock of process"},
        {"file_lock_entry", "start", Key, File, "lock of process"},
        {"file_lock_entry", "file_id", Id, File},
        // namespaces
        {"mnt_entry", "mountpoint", Key, File, "mount"},
        {"mnt_entry", "mnt_id", Id, Mount},
        {"mnt_entry", "parent_mnt_id", Id, Mount},
        {"mnt_entry", "root_dev", Id, FileSystem},
        {"mnt_entry", "shared_id", Id, PeerGroup},
        {"mnt_entry", "master_id", Id, PeerGroup},
        {"mnt_entry", "network_of", Id, Namespace},
        {"mnt_socket_entry", "path", Key, File, "socket"},
        {"tmpfs_file_entry", "path", Key, File, "file"},
        {"tmpfs_file_entry", "start", Unchecked, File, "place of the content in the image"},
        {"autofs_name_entry", "name", Key, File, "name"},
        {"binfmt_misc_entry", "name", Key, File, "binary format"},
        {"userns_entry", "parent", Id, Namespace},
        {"userns_entry", "owned", Id, Namespace},
        {"pidns_entry", "parent", Id, Namespace},
        {"pid_number_entry", "tree_pid", Key, File, "pid"},
        {"net_device_entry", "name", Key, File, "network device"},
        {"netns_id", "target_ns_id", Id, Namespace},
        {"posix_queue_entry", "name", Key, File, "message queue"},
        // cgroups
        {"cg_set_entry", "id", Id, CgroupSet},
        {"cg_member_entry", "name", Key, File, "hierarchy"},
        {"cgroup_dir_entry", "dir_name", Key, File, "cgroup"},
        {"cgroup_prop_entry", "name", Key, File, "property"},
        // inventory
        {"inventory_entry", "root_ids", Unchecked, File,
         "namespaces of criu, which CheckpointComparison relates itself"},
        {"inventory_entry", "img_version", Unchecked, File, kOfTheRun},
        {"inventory_entry", "fdinfo_per_id", Unchecked, File, kOfTheRun},
        {"inventory_entry", "ns_per_id", Unchecked, File, kOfTheRun},
        {"inventory_entry", "root_cg_set", Unchecked, File, kOfTheRun},
        {"inventory_entry", "dump_uptime", Unchecked, File, kOfTheRun},
        {"inventory_entry", "pre_dump_mode", Unchecked, File, kOfTheRun},
        {"inventory_entry", "tcp_close", Unchecked, File, kOfTheRun},
        {"inventory_entry", "network_lock_method", Unchecked, File, kOfTheRun},
        {"inventory_entry", "plugins_entry", Unchecked, File, kOfTheRun},
        {"inventory_entry", "dump_criu_run_id", Unchecked, File, kOfTheRun},
        {"inventory_entry", "compress", Unchecked, File, kOfTheRun},
        {"inventory_entry", "extensions", Unchecked, File, kOfTheRun},
        {"inventory_entry", "tracking_id", Unchecked, File, kOfTheRun},
        {"inventory_entry", "checksums", Unchecked, File, kOfTheRun},
    });
}();

}  // namespace

std::span<const FieldRule> fieldRules() noexcept {
    return kFieldRules;
}

const FieldRule* findRule(std::string_view message, std::string_view field) noexcept {
    for (const FieldRule& rule : kFieldRules)
        if ((rule.message.empty() || rule.message == message) && rule.field == field)
            return &rule;
    return nullptr;
}

const MessageRule* findRule(std::string_view message) noexcept {
    for (const MessageRule& rule : messageRules())
        if (rule.message == message)
            return &rule;
    return nullptr;
}

}  // namespace criu::engine
