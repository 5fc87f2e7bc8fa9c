# SPDX-License-Identifier: GPL-2.0-only
"""All state of a tree that the kernel shows. It includes the data of procstate.py, which every mode compares. It adds:

- all files of /proc/PID and its threads
- every option of every socket
- results of fcntl(2), ioctl(2) and stat(2) for each descriptor
- results of system calls in the threads themselves

EXPLAINED lists fields that may differ after a restore, with reasons. Any other difference is lost state.
"""

import ctypes
import errno
import fcntl
import os
import re
import socket
import struct
import subprocess

from . import processes, procstate

# Fields that differ after a restore: a regular expression for the name, and the reason. The *_SKIPPED below leave out numbers
# of the kernel and counters. The key `ignore` of a program names fields that differ in that program only (test/zdtm/catalog.py).
EXPLAINED = {
    r"timens_offsets":
        "a time namespace of its own lets the clocks of the tree go on from where they stood at the dump",
    r"thread \d+ PR_FUTEX_HASH":
        "the kernel makes the table when a process gets its second thread, be it for a moment",
    r"thread \d+ sessionid":
        "the kernel counts sessions of audit, and gives the next number with each login uid that is set",
    r"fd \d+ it_value":
        "time goes on between dump and restore, and while the program waits for its check",
    r"thread \d+ (ITIMER_\w+ left|timer \d+)":
        "time goes on between dump and restore; the suite random compares intervals, and that the rest doesn't grow",
    r"thread \d+ pending.*":
        "the suite random compares siginfo of pending signals; programs of signals check theirs",
    r"fd \d+ ticks":
        "periodic timers go off between dump and restore; programs of timers check the count",
    r"fd \d+ FIOQSIZE":
        "blocks that the file system has in use so far; it uses them when it writes back, and for directories as it likes",
    r"fd \d+ option TCP 2":
        "TCP_MAXSEG: of the path, corrected by the segments and options that have been sent",
    r"fd \d+ option TCP 10":
        "TCP_WINDOW_CLAMP: the kernel raises it with the receive buffer; tcp/tcp_options checks one that was chosen",
    r"fd \d+ option TCP 12":
        "TCP_QUICKACK: the kernel turns it on and off as data comes and goes (tcp(7))",
    r"fd \d+ option IP 14":
        "IP_MTU: of the route that the last packet took; none before the first",
    r"fd \d+ option IPV6 24":
        "IPV6_MTU: likewise",
}

_LIBC = ctypes.CDLL(None, use_errno=True)
_SCHED_GETATTR = 315
_PIDFD_OPEN = 434
_PIDFD_GETFD = 438
_IOPRIO_GET = 252
_RESTART_SYSCALL = "219"

# Text files of /proc/PID that are compared unchanged.
PROCESS_FILES = ["auxv", "coredump_filter", "cpuset", "cpu_resctrl_groups", "gid_map", "uid_map", "projid_map",
                 "setgroups", "oom_adj", "timens_offsets", "attr/current", "attr/exec", "attr/fscreate",
                 "attr/keycreate", "attr/sockcreate", "patch_state"]

# Files of each thread. The last two show where the thread sleeps, and the arguments of its system call.
THREAD_FILES = ["attr/current", "cpuset", "personality", "loginuid", "sessionid", "wchan", "syscall"]

# Lines of status that are counters or ids of the kernel.
STATUS_SKIPPED = {"Tgid", "Ngid", "Pid", "Kthread", "FDSize", "VmPeak", "VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem", "HugetlbPages", "VmPTE",
                  "VmSwap", "SigQ", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches", "State",
                  "x86_Thread_features", "VmSize", "VmData", "VmStk", "VmExe", "VmLib"}

# Fields of stat (proc_pid_stat(5)) that are counters, times, places in kernel memory, or compared by other means.
STAT_SKIPPED = {1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 24, 29, 30, 31, 32, 33, 34, 35, 36, 37, 39, 42, 43, 44,
                52}

# Flags of stat that say what a process has done: PF_FORKNOEXEC (a restored process has executed nothing), PF_SUPERPRIV (it
# has used a capability), PF_NPROC_EXCEEDED (its user had too many processes), PF_USED_MATH of older kernels.
HISTORY_FLAGS = 0x40 | 0x100 | 0x1000 | 0x2000

# Fields of smaps that describe a mapping, not its content.
# (THPeligible follows from VmFlags, and from where the kernel happens to have cut a mapping.)
SMAPS_KEPT = {"KernelPageSize", "MMUPageSize", "ProtectionKey"}

# Lines of fdinfo that are the kernel's own numbers, or compared by other means.
FDINFO_SKIPPED = {"mnt_id", "ino", "pos", "flags", "lock", "eventfd-id", "map_id"}

# Numbers of inodes, devices and handles, in lines of watches and targets. A restored file system or pipe has other numbers.
FDINFO_NUMBERS = re.compile(r" *\b(ino|sdev|fhandle-bytes|fhandle-type|f_handle):[0-9a-f]+")

# Socket options that are counters or ids of the kernel, or whose reading changes state.
OPTIONS_SKIPPED = {
    (socket.SOL_SOCKET, 4),     # SO_ERROR: reading clears it
    (socket.SOL_SOCKET, 49),    # SO_INCOMING_CPU: of the last packet
    (socket.SOL_SOCKET, 55),    # SO_MEMINFO: counters
    (socket.SOL_SOCKET, 56),    # SO_INCOMING_NAPI_ID
    (socket.SOL_SOCKET, 57),    # SO_COOKIE: an id of the kernel
    (socket.SOL_SOCKET, 71),    # SO_NETNS_COOKIE: an id of the kernel
    (socket.SOL_SOCKET, 77),    # SO_PEERPIDFD: reading opens a descriptor
    (socket.SOL_SOCKET, 26),    # SO_ATTACH_FILTER as SO_GET_FILTER: compared as far as the buffer goes
    (socket.IPPROTO_TCP, 11),   # TCP_INFO: counters
    (socket.IPPROTO_TCP, 26),   # TCP_CC_INFO: likewise
    (socket.IPPROTO_TCP, 21),   # TCP_QUEUE_SEQ: of a repair
    (socket.IPPROTO_TCP, 24),   # TCP_TIMESTAMP: a clock
    (socket.IPPROTO_TCP, 28),   # TCP_SAVED_SYN: reading frees it
    (socket.IPPROTO_TCP, 35),   # TCP_ZEROCOPY_RECEIVE: reading maps
    (284, 1),                   # MPTCP_INFO: counters
    (284, 4),                   # MPTCP_FULL_INFO: likewise
}

# Options that can't be set for streams. Those of accepted sockets come from the packet that asked for the connection.
OF_DATAGRAMS = {
    (socket.IPPROTO_IP, 33),    # IP_MULTICAST_TTL
    (socket.IPPROTO_IP, 52),    # IP_PROTOCOL: of a stream its port, which a bound one keeps when the connection has ended
    (socket.IPPROTO_IPV6, 17),  # IPV6_MULTICAST_IF
    (socket.IPPROTO_IPV6, 18),  # IPV6_MULTICAST_HOPS
}

# Buffer sizes of streams, with their bits of SO_BUF_LOCK. The kernel changes a size unless its bit is set.
BUFFERS = {7: 1, 8: 2}          # SO_SNDBUF: SOCK_SNDBUF_LOCK; SO_RCVBUF: SOCK_RCVBUF_LOCK
SO_BUF_LOCK = 72

LEVELS = {"SOCKET": socket.SOL_SOCKET, "IP": 0, "TCP": 6, "UDP": 17, "IPV6": 41, "ICMPV6": 58, "UDPLITE": 136,
          "RAW": 255, "PACKET": 263, "ATM": 264, "NETLINK": 270, "TIPC": 271, "TLS": 282, "XDP": 283, "MPTCP": 284,
          "VSOCK": 40, "BLUETOOTH": 274, "SCTP": 132, "ALG": 279}

# ioctl(2) requests that only read: name, number, size of the result.
REQUESTS = [("TCGETS2", 0x802C542A, 44), ("TIOCGWINSZ", 0x5413, 8), ("TIOCGETD", 0x5424, 4), ("TIOCGPTLCK", 0x80045439, 4),
            ("TIOCGPKT", 0x80045438, 4), ("TIOCGEXCL", 0x80045440, 4), ("TIOCGSOFTCAR", 0x5419, 4),
            ("FIONREAD", 0x541B, 4), ("TIOCOUTQ", 0x5411, 4), ("FIOQSIZE", 0x5460, 8), ("FS_IOC_GETFLAGS", 0x80086601, 8),
            ("FS_IOC_FSGETXATTR", 0x801C581F, 28), ("TUNGETIFF", 0x800454D2, 40), ("TUNGETSNDBUF", 0x800454D3, 4),
            ("TUNGETVNETHDRSZ", 0x800454D7, 4), ("TUNGETVNETLE", 0x800454DD, 4), ("EPIOCGPARAMS", 0x80088A02, 8),
            ("RNDGETENTCNT", 0x80045200, 4), ("SECCOMP", 0, 0), ("NS_GET_NSTYPE", 0xB703, 0)]
F_OWNER_PGRP = 2
PID_REQUESTS = [("TIOCGPGRP", 0x540F), ("TIOCGSID", 0x5429)]

CONTROLS = [("F_GETSIG", 11, None), ("F_GETLEASE", 1025, None), ("F_GETPIPE_SZ", 1032, None),
            ("F_GET_SEALS", 1034, None), ("F_GET_RW_HINT", 1035, 8), ("F_GET_FILE_RW_HINT", 1037, 8),
            ("F_GETOWNER_UIDS", 17, 8)]


def picture(root, probe):
    """Returns {pid: {what: value}} of the tree of `root`. `probe` is the program thread_probe."""
    names = {}
    pids = procstate.Pids(root)
    found = {}
    for pid in pids.processes:
        if pids.inside(pid) is None:
            continue
        try:
            found[pids.inside(pid)] = _process(pid, names, pids, probe)
        except (OSError, ValueError):
            if os.path.exists(f"/proc/{pid}"):
                raise
    return found


def differences(before, after, ignored=()):
    """As procstate.differences(), without differences in EXPLAINED."""
    before, after = dict(before), dict(after)
    for pid in before.keys() & after.keys():
        before[pid], after[pid] = _without_calls(before[pid], after[pid])
    return procstate.differences(before, after, [*ignored, *EXPLAINED])


def _without_calls(old, new):
    """Takes out where threads wait that ran at either time, or whose call is made again by restart_syscall(2)."""
    out = set()
    for name in [name for name in old if name.endswith(" syscall") and name in new]:
        was, now = (fields[name].split() for fields in (old, new))
        runs = "running" in (was[:1] + now[:1])
        restarted = len(now) > 1 and now[0] == _RESTART_SYSCALL and was[1:] == now[1:]
        # A thread that stops at the end of a call still shows the call. After a restore it is at the same place, in no call.
        ended = now[:1] == ["-1"] and was[-2:] == now[-2:]
        if runs or restarted or ended:
            out.update((name, name[:-len("syscall")] + "wchan"))
    return tuple({name: value for name, value in fields.items() if name not in out} for fields in (old, new))


def _process(pid, names, pids, probe):
    fields = {}
    status = processes.status(pid) or {}
    if status.get("State", "Z").startswith("Z"):
        return fields
    for name in PROCESS_FILES:
        fields[name] = _text(f"/proc/{pid}/{name}")
    stat = (processes.text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    for number, value in enumerate(stat, 3):
        if number == 9:
            value = f"{int(value) & ~HISTORY_FLAGS:x}"
        if number not in STAT_SKIPPED:
            fields[f"stat {number}"] = value
    for tid in processes.threads(pid):
        fields.update({f"thread {pids.inside(tid)} {what}": value
                       for what, value in _thread(pid, tid, names, pids).items()})
    fields.update(_smaps(pid))
    fields.update(_policies(pid))
    fields["mountinfo"] = _mounts(pid)
    fields.update(_files(pid, names, pids))
    # Stops the process for a moment, so it is the last step.
    fields.update(_probed(pid, pids, probe))
    return fields


def _text(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("latin-1")
    except OSError as error:
        return errno.errorcode[error.errno]


def _thread(pid, tid, names, pids):
    fields = {}
    base = f"/proc/{pid}/task/{tid}"
    for name in THREAD_FILES:
        fields[name] = _text(f"{base}/{name}")
    for name, value in (processes.status(pid, tid) or {}).items():
        if name not in STATUS_SKIPPED and name not in procstate.STATUS:
            fields[f"status {name}"] = value
    try:
        spaces = sorted(os.listdir(f"{base}/ns"))
    except OSError:
        spaces = []
    for space in spaces:
        fields[f"ns {space}"] = procstate._link(f"{base}/ns/{space}", names)  # pylint: disable=protected-access
    attributes = ctypes.create_string_buffer(64)
    if _LIBC.syscall(_SCHED_GETATTR, tid, attributes, 64, 0) == 0:
        size, policy, flags, nice, priority, runtime, deadline, period, least, most = struct.unpack_from(
            "=IIQiIQQQII", attributes.raw)
        fields["sched_getattr"] = (policy, flags, nice, priority, runtime, deadline, period, least, most)
        del size
    fields["ioprio"] = _LIBC.syscall(_IOPRIO_GET, 1, tid)
    del pids
    return fields


def _smaps(pid):
    """Neighbours of which the same is said are one: the kernel merges and cuts mappings."""
    found = []
    for line in (processes.text(f"/proc/{pid}/smaps") or "").splitlines():
        match = procstate.MAP.match(line)
        if match:
            found.append([int(match.group(1), 16), int(match.group(2), 16), {}])
            if match.group(7) in procstate.KERNEL_MAPS:
                found.append([0, 0, {}])
            continue
        name, _, value = line.partition(":")
        if name in SMAPS_KEPT:
            found[-1][2][name] = value.strip()
    merged = []
    for begin, end, values in found:
        if merged and merged[-1][1] == begin and merged[-1][2] == values:
            merged[-1][1] = end
        elif values:
            merged.append([begin, end, values])
    return {f"smaps {begin:x}-{end:x}": values for begin, end, values in merged}


def _policies(pid):
    """Returns memory policies of mappings, without the location of pages."""
    fields = {}
    for line in (processes.text(f"/proc/{pid}/numa_maps") or "").splitlines():
        words = line.split()
        if len(words) > 1 and words[1] != "default":
            fields[f"policy {words[0]}"] = words[1]
    return fields


def _mountinfo(pid):
    return [line.split() for line in (processes.text(f"/proc/{pid}/mountinfo") or "").splitlines()]


def _covered(lines):
    """Returns mounts on whose root another is mounted, and mounts below the place of another on the same mount."""
    places = {words[0]: words[4] for words in lines}
    covering = {words[1] for words in lines if places.get(words[1]) == words[4]}
    return [words for words in lines
            if words[0] in covering or any(other[1] == words[1] and words[4].startswith(other[4] + "/") for other in lines)]


def _mounts(pid):
    """Returns each mount with its place and parent, without ids of the kernel."""
    lines = _mountinfo(pid)
    # Mounts that criu's namespace covers as well aren't dumped (see Documentation/mounts.md).
    hidden = {words[0] for words in _covered(lines)} if _covered(_mountinfo("self")) else set()
    parents = {words[0]: words[1] for words in lines}
    places = {words[0]: words[4] for words in lines}
    shown = []
    for words in lines:
        if words[0] in hidden:
            continue
        while words[1] in hidden:
            words[1] = parents[words[1]]
        dash = words.index("-")
        peers = sorted(word.partition(":")[0] for word in words[6:dash])
        shown.append(" ".join([words[3], words[4], words[5], *peers, words[dash + 1], words[dash + 2],
                               "on " + places.get(words[1], "?")]))
    return sorted(shown)  # the kernel's order is that of their making


def _files(pid, names, pids):
    fields = {}
    try:
        numbers = sorted(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
        process = _LIBC.syscall(_PIDFD_OPEN, pid, 0)
    except OSError:
        return fields
    if process < 0:
        return fields
    try:
        for number in numbers:
            for line in (processes.text(f"/proc/{pid}/fdinfo/{number}") or "").splitlines():
                name, _, value = line.partition(":")
                if name.strip() not in FDINFO_SKIPPED:
                    key = f"fd {number} {name.strip()}"
                    fields[key] = sorted([*fields.get(key, []), _info(name.strip(), value.strip(), pids)])
            fd = _LIBC.syscall(_PIDFD_GETFD, process, number, 0)
            if fd < 0:
                continue
            try:
                fields.update({f"fd {number} {what}": value for what, value in _file(fd, pids).items()})
            finally:
                os.close(fd)
    finally:
        os.close(process)
    del names
    return fields


def _info(name, value, pids):
    """The value of a line of fdinfo; pids as the tree's namespace calls them."""
    if name == "NSpid" and pids.own:
        return " ".join(value.split()[pids.level:])
    return pids.text(value) if name == "Pid" else FDINFO_NUMBERS.sub("", value)


def _file(fd, pids):
    fields = {}
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    info = os.fstat(fd)
    # A file of /proc has the owner that its process had at the last lookup of the path.
    owners = None if os.readlink(f"/proc/self/fd/{fd}").startswith("/proc/") else (info.st_uid, info.st_gid)
    fields["stat"] = (f"{info.st_mode:o}", info.st_nlink, owners, info.st_rdev, info.st_size, info.st_blksize)
    for name, number, size in CONTROLS:
        fields[name] = _control(fd, number, size)
    fields["F_GETFL"] = f"{flags & ~procstate.OPENING_FLAGS:o}"
    owner = _control(fd, 16, 8)  # F_GETOWN_EX
    if isinstance(owner, bytes):
        kind, who = struct.unpack("ii", owner)
        owner = (kind, _group(who, pids) if kind == F_OWNER_PGRP else pids.text(str(who)))
    fields["F_GETOWN_EX"] = owner
    if flags & os.O_PATH:
        return fields
    try:
        fields["attributes"] = sorted((name, os.getxattr(fd, name)) for name in os.listxattr(fd))
    except OSError as error:
        fields["attributes"] = errno.errorcode[error.errno]
    for name, number, size in REQUESTS:
        fields[name] = _request(fd, number, size)
    for name, number in PID_REQUESTS:
        answer = _request(fd, number, 4)
        if isinstance(answer, bytes):
            answer = pids.text(str(struct.unpack("i", answer)[0]))
        fields[name] = answer
    if (info.st_mode & 0o170000) == 0o140000:
        fields.update(_socket(fd))
    return fields


def _group(number, pids):
    """A process group as the tree's namespace calls it; its leader may have ended."""
    for pid in pids.processes:
        names = (processes.status(pid) or {}).get("NSpgid", "").split()
        if names[:1] == [str(number)]:
            return names[pids.level] if pids.own else names[0]
    return str(number)


def _control(fd, number, size):
    try:
        return fcntl.fcntl(fd, number, bytes(size) if size else 0)
    except OSError as error:
        return errno.errorcode[error.errno]


def _request(fd, number, size):
    if number == 0:
        return None
    try:
        return fcntl.ioctl(fd, number, bytes(size) if size else 0)
    except OSError as error:
        return errno.errorcode.get(error.errno, error.errno)


def _option(fd, level, option):
    value = ctypes.create_string_buffer(512)
    length = ctypes.c_uint32(512)
    if _LIBC.getsockopt(fd, level, option, value, ctypes.byref(length)) != 0:
        return None
    return value.raw[:min(length.value, 512)]


def _socket(fd):
    # How much is under way and how much has arrived: data go on to flow, and the kernel counts its own memory with it.
    fields = {"TIOCOUTQ": None}
    for name in ("getsockname", "getpeername"):
        address = ctypes.create_string_buffer(256)
        length = ctypes.c_uint32(256)
        if getattr(_LIBC, name)(fd, address, ctypes.byref(length)) == 0:
            fields[name] = address.raw[:length.value]
        else:
            fields[name] = errno.errorcode[ctypes.get_errno()]
    stream = _option(fd, socket.SOL_SOCKET, socket.SO_TYPE) == struct.pack("i", socket.SOCK_STREAM)
    family = struct.unpack("i", _option(fd, socket.SOL_SOCKET, socket.SO_DOMAIN))[0]
    flows = stream and family in (socket.AF_INET, socket.AF_INET6)
    locked = struct.unpack("i", _option(fd, socket.SOL_SOCKET, SO_BUF_LOCK) or bytes(4))[0]
    unbound = not any(fields["getsockname"][8:24])
    if flows:
        fields["FIONREAD"] = None
    for label, level in LEVELS.items():
        for option in range(1, 160):
            if (level, option) in OPTIONS_SKIPPED or (stream and (level, option) in OF_DATAGRAMS):
                continue
            # bind(2) to an address turns IPV6_V6ONLY on, connect(2) from one doesn't (__inet6_bind()).
            if flows and (level, option) == (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) and not unbound:
                continue
            if flows and level == socket.SOL_SOCKET and BUFFERS.get(option, 0) & ~locked:
                continue
            text = _option(fd, level, option)
            if text is not None:
                if (level, option) == (socket.SOL_SOCKET, 17) and len(text) == 12:  # SO_PEERCRED
                    # Only the process itself can give its pid, so the kernel names one of the restore's.
                    text = struct.unpack("iii", text)[1:]
                fields[f"option {label} {option}"] = text
    return fields


def _probed(pid, pids, probe):
    run = subprocess.run([probe, str(pid)], capture_output=True, text=True, check=False)
    fields = {}
    if run.returncode != 0:
        fields["probe"] = run.stderr.strip().replace(str(pid), "PID")
        return fields
    for line in run.stdout.splitlines():
        what, _, value = line.partition(" = ")
        tid, _, name = what.partition(" ")
        fields[f"thread {pids.inside(int(tid))} {name}"] = value
    return fields
