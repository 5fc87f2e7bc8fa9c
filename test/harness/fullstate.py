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
import socket
import struct
import subprocess

from . import processes, procstate

# Reasons for differences after a restore, by regular expressions for names of fields.
EXPLAINED = {}

_LIBC = ctypes.CDLL(None, use_errno=True)
_SCHED_GETATTR = 315
_PIDFD_OPEN = 434
_PIDFD_GETFD = 438
_IOPRIO_GET = 252

# Text files of /proc/PID that are compared unchanged.
PROCESS_FILES = ["auxv", "coredump_filter", "cpuset", "cpu_resctrl_groups", "gid_map", "uid_map", "projid_map",
                 "setgroups", "oom_adj", "timens_offsets", "attr/current", "attr/exec", "attr/fscreate",
                 "attr/keycreate", "attr/sockcreate", "patch_state"]

# Files of each thread. The last two show where the thread sleeps, and the arguments of its system call.
THREAD_FILES = ["attr/current", "cpuset", "personality", "loginuid", "sessionid", "wchan", "syscall"]

# Lines of status that are counters or ids of the kernel.
STATUS_SKIPPED = {"Tgid", "Ngid", "Pid", "Kthread", "FDSize", "VmPeak", "VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem", "VmPTE",
                  "VmSwap", "SigQ", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches", "State",
                  "x86_Thread_features", "VmSize", "VmData", "VmStk", "VmExe", "VmLib"}

# Fields of stat (proc_pid_stat(5)) that are counters, times, kernel addresses, or compared in another way.
STAT_SKIPPED = {1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 21, 22, 24, 29, 30, 31, 32, 33, 34, 35, 36, 37, 39, 42, 43, 44}

# Fields of smaps that describe the mapping, not its content.
SMAPS_KEPT = {"KernelPageSize", "MMUPageSize", "ProtectionKey", "THPeligible"}

# Lines of fdinfo that are ids of the kernel, or compared in another way.
FDINFO_SKIPPED = {"mnt_id", "ino", "pos", "flags", "lock"}

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
    (socket.IPPROTO_TCP, 26),   # TCP_CC_INFO: counters
    (socket.IPPROTO_TCP, 24),   # TCP_TIMESTAMP: a clock
    (socket.IPPROTO_TCP, 28),   # TCP_SAVED_SYN: reading frees it
    (socket.IPPROTO_TCP, 35),   # TCP_ZEROCOPY_RECEIVE: reading maps
}

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
PID_REQUESTS = [("TIOCGPGRP", 0x540F), ("TIOCGSID", 0x5429)]

CONTROLS = [("F_GETFL", 3, None), ("F_GETSIG", 11, None), ("F_GETLEASE", 1025, None), ("F_GETPIPE_SZ", 1032, None),
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
    """Returns procstate.differences() without the explained ones."""
    return procstate.differences(before, after, [*ignored, *EXPLAINED])


def _process(pid, names, pids, probe):
    fields = {}
    status = processes.status(pid) or {}
    if status.get("State", "Z").startswith("Z"):
        return fields
    for name in PROCESS_FILES:
        fields[name] = _text(f"/proc/{pid}/{name}")
    stat = (processes.text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    for number, value in enumerate(stat, 3):
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
    fields = {}
    begin = ""
    for line in (processes.text(f"/proc/{pid}/smaps") or "").splitlines():
        match = procstate.MAP.match(line)
        if match:
            begin = match.group(1) if match.group(7) not in procstate.KERNEL_MAPS else ""
            continue
        name, _, value = line.partition(":")
        if begin and name in SMAPS_KEPT:
            fields[f"smaps {begin} {name}"] = value.strip()
    return fields


def _policies(pid):
    """Returns memory policies of mappings, without the location of pages."""
    fields = {}
    for line in (processes.text(f"/proc/{pid}/numa_maps") or "").splitlines():
        words = line.split()
        if len(words) > 1 and words[1] != "default":
            fields[f"policy {words[0]}"] = words[1]
    return fields


def _mounts(pid):
    """Returns mounts and their parents, without ids of the kernel."""
    lines = [line.split() for line in (processes.text(f"/proc/{pid}/mountinfo") or "").splitlines()]
    places = {words[0]: words[4] for words in lines}
    shown = []
    for words in lines:
        dash = words.index("-")
        peers = sorted(word.partition(":")[0] for word in words[6:dash])
        shown.append(" ".join([words[3], words[4], words[5], *peers, words[dash + 1], words[dash + 2],
                               "on " + places.get(words[1], "?")]))
    return shown


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
                    fields[key] = fields.get(key, "") + value.strip() + ";"
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


def _file(fd, pids):
    fields = {}
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    info = os.fstat(fd)
    fields["stat"] = (f"{info.st_mode:o}", info.st_nlink, info.st_uid, info.st_gid, info.st_rdev, info.st_size, info.st_blksize)
    for name, number, size in CONTROLS:
        fields[name] = _control(fd, number, size)
    owner = _control(fd, 16, 8)  # F_GETOWN_EX
    if isinstance(owner, bytes):
        kind, who = struct.unpack("ii", owner)
        owner = (kind, pids.text(str(who)))
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
        fields.update(_socket(fd, pids))
    return fields


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


def _socket(fd, pids):
    fields = {}
    for name in ("getsockname", "getpeername"):
        address = ctypes.create_string_buffer(256)
        length = ctypes.c_uint32(256)
        if getattr(_LIBC, name)(fd, address, ctypes.byref(length)) == 0:
            fields[name] = address.raw[:length.value]
        else:
            fields[name] = errno.errorcode[ctypes.get_errno()]
    for label, level in LEVELS.items():
        for option in range(1, 160):
            if (level, option) in OPTIONS_SKIPPED:
                continue
            value = ctypes.create_string_buffer(512)
            length = ctypes.c_uint32(512)
            if _LIBC.getsockopt(fd, level, option, value, ctypes.byref(length)) == 0:
                text = value.raw[:min(length.value, 512)]
                if (level, option) == (socket.SOL_SOCKET, 17) and len(text) == 12:  # SO_PEERCRED
                    who, user, group = struct.unpack("iii", text)
                    text = (pids.text(str(who)), user, group)
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
