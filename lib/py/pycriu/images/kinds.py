# SPDX-License-Identifier: LGPL-2.1-only
"""Kinds of image files that consist of records: the only table of their magic numbers, messages and contents."""

from __future__ import annotations

import dataclasses

from . import contents

COMMON_MAGIC = 0x54564319   # precedes the magic number of most kinds
SERVICE_MAGIC = 0x55105940  # precedes the magic number of files in the work directory


@dataclasses.dataclass(frozen=True)
class Kind:
    """Format of a file.

    ``head`` is the number before the kind's magic number; 0 means none. ``message`` is the type of every record,
    except that the first one has type ``first`` if it is set. ``content`` reads and writes the bytes behind records.
    """

    tag: str
    magic: int
    message: str
    first: str = ""
    head: int = COMMON_MAGIC
    content: contents.Content | None = None


KINDS: dict[str, Kind] = {kind.tag: kind for kind in (
    Kind("INVENTORY", 0x58313116, "inventory_entry", head=0),
    Kind("CHECKSUMS", 0x4c1d5e28, "checksums_entry", first="checksums_head"),
    Kind("ENCRYPTION", 0x4c1d5e29, "encryption_head"),
    Kind("ENCRYPTED", 0x4c1d5e2a, "encrypted_file_entry"),
    Kind("SIGNATURE", 0x4c1d5e2b, "signature_entry"),
    Kind("STATS", 0x57093306, "stats_entry", head=SERVICE_MAGIC),
    Kind("IRMAP_CACHE", 0x57004059, "irmap_cache_entry", head=SERVICE_MAGIC),
    Kind("CPUINFO", 0x61404013, "cpuinfo_entry"),
    # the process tree
    Kind("PSTREE", 0x50273030, "pstree_entry"),
    Kind("CORE", 0x55053847, "core_entry"),
    Kind("IDS", 0x54432030, "task_kobj_ids_entry"),
    Kind("MM", 0x57492820, "mm_entry"),
    Kind("FS", 0x51403912, "fs_entry"),
    Kind("FDINFO", 0x56213732, "fdinfo_entry"),
    Kind("SECCOMP", 0x64413049, "seccomp_entry"),
    Kind("APPARMOR", 0x59423047, "apparmor_entry"),
    Kind("CGROUP", 0x59383330, "cgroup_entry"),
    Kind("FILE_LOCKS", 0x54323616, "file_lock_entry"),
    # memory
    Kind("PAGEMAP", 0x56084025, "pagemap_entry", first="pagemap_head"),
    Kind("TMPFS_FILES", 0x4c1d5e27, "tmpfs_file_entry"),
    Kind("MEMFD_INODE", 0x48453499, "memfd_inode_entry"),
    # open files
    Kind("FILES", 0x56303138, "file_entry"),
    Kind("REMAP_FPATH", 0x59133954, "remap_file_path_entry"),
    Kind("GHOST_FILE", 0x52583605, "ghost_chunk_entry", first="ghost_file_entry", content=contents.GhostFile()),
    Kind("TCP_STREAM", 0x51465506, "tcp_stream_entry", content=contents.TcpQueues()),
    Kind("SK_QUEUES", 0x56264026, "sk_packet_entry", content=contents.Sized(lambda entry: entry.length)),
    Kind("PIPES_DATA", 0x56453709, "pipe_data_entry", content=contents.Sized(lambda entry: entry.bytes)),
    Kind("FIFO_DATA", 0x59333054, "pipe_data_entry", content=contents.Sized(lambda entry: entry.bytes)),
    Kind("TTY_INFO", 0x59453036, "tty_info_entry"),
    Kind("TTY_DATA", 0x59413026, "tty_data_entry"),
    Kind("BPFMAP_FILE", 0x57506142, "bpfmap_file_entry"),
    Kind("BPFMAP_DATA", 0x64324033, "bpfmap_data_entry",
         content=contents.Sized(lambda entry: entry.keys_bytes + entry.values_bytes)),
    Kind("PIDFD", 0x54435556, "pidfd_entry"),
    # namespaces
    Kind("UTSNS", 0x54473203, "utsns_entry"),
    Kind("USERNS", 0x55474906, "userns_entry"),
    Kind("TIMENS", 0x43114433, "timens_entry"),
    Kind("PIDNS", 0x61157326, "pidns_entry"),
    Kind("IPC_VAR", 0x53115007, "ipc_var_entry"),
    Kind("IPCNS_SHM", 0x46283044, "ipc_shm_entry",
         content=contents.Sized(lambda entry: 0 if entry.in_pagemaps else entry.size, padding=4)),
    Kind("IPCNS_MSG", 0x55453737, "ipc_msg_entry", content=contents.Messages()),
    Kind("IPCNS_SEM", 0x59573019, "ipc_sem_entry", content=contents.Semaphores()),
    Kind("IPCNS_MQUEUE", 0x3b6f10d4, "posix_queue_entry"),
    Kind("MNTS", 0x55563928, "mnt_entry"),
    Kind("AUTOFS", 0x49353943, "autofs_entry"),
    Kind("BINFMT_MISC", 0x67343323, "binfmt_misc_entry"),
    Kind("NETNS", 0x55933752, "netns_entry"),
    Kind("NETDEV", 0x57373951, "net_device_entry"),
    # files of versions before 4.2
    Kind("CREDS", 0x54023547, "creds_entry"),
    Kind("SIGACT", 0x55344201, "sa_entry"),
    Kind("VMAS", 0x54123737, "vma_entry"),
    Kind("RLIMIT", 0x57113925, "rlimit_entry"),
    Kind("ITIMERS", 0x57464056, "itimer_entry"),
    Kind("POSIX_TIMERS", 0x52603957, "posix_timer_entry"),
    Kind("SIGNAL", 0x59255647, "siginfo_entry"),
    Kind("PSIGNAL", 0x59255647, "siginfo_entry"),
    Kind("INOTIFY_WD", 0x54562009, "inotify_wd_entry"),
    Kind("FANOTIFY_MARK", 0x56506035, "fanotify_mark_entry"),
    Kind("EVENTPOLL_TFD", 0x44433746, "eventpoll_tfd_entry"),
    Kind("REG_FILES", 0x50363636, "reg_file_entry"),
    Kind("INETSK", 0x56443851, "inet_sk_entry"),
    Kind("NS_FILES", 0x61394011, "ns_file_entry"),
    Kind("PACKETSK", 0x60454618, "packet_sock_entry"),
    Kind("NETLINK_SK", 0x58005614, "netlink_sk_entry"),
    Kind("EVENTFD_FILE", 0x44523722, "eventfd_file_entry"),
    Kind("EVENTPOLL_FILE", 0x45023858, "eventpoll_file_entry"),
    Kind("SIGNALFD", 0x57323820, "signalfd_entry"),
    Kind("TUNFILE", 0x57143751, "tunfile_entry"),
    Kind("TIMERFD", 0x50493712, "timerfd_entry"),
    Kind("INOTIFY_FILE", 0x48424431, "inotify_file_entry"),
    Kind("FANOTIFY_FILE", 0x55096122, "fanotify_file_entry"),
    Kind("EXT_FILES", 0x59255641, "ext_file_entry"),
    Kind("UNIXSK", 0x54373943, "unix_sk_entry"),
    Kind("FIFO", 0x58364939, "fifo_entry"),
    Kind("PIPES", 0x56513555, "pipe_entry"),
    Kind("TTY_FILES", 0x59433025, "tty_file_entry"),
)}

# If two kinds have the same number (SIGNAL, PSIGNAL), it has the first.
BY_MAGIC: dict[int, Kind] = {kind.magic: kind for kind in reversed(KINDS.values())}
