# SPDX-License-Identifier: GPL-2.0-only
"""State of a tree as the kernel shows it. The observer knows neither the images nor criu's code.

It includes the data of harness/procstate.py and harness/fullstate.py, and adds:

- contents of memory, files, pipes and sockets
- descriptors that refer to one open file description, and other objects that processes share (kcmp(2))
- pending signals with their siginfo, and the remaining times of timers
- objects of IPC namespaces, and names of UTS namespaces
"""

import array
import ctypes
import fcntl
import hashlib
import json
import os
import re
import select
import socket
import stat
import struct

from harness import fullstate, processes, procstate

_LIBC = ctypes.CDLL(None, use_errno=True)
_KCMP = 312
_PIDFD_OPEN = 434
_PIDFD_GETFD = 438
KCMP_FILE = 0
SHARED = {"memory": 1, "descriptors": 2, "folders": 3, "signal actions": 4, "I/O context": 5, "semaphore undo": 6}
PAGE = 4096
PRESENT = 1 << 63 | 1 << 62  # in memory or in swap
OF_FILE = 1 << 61
SO_PEEK_OFF = 42
CLONE_NEWIPC = 0x08000000
CLONE_NEWUTS = 0x04000000
IPC_IDS = ("perms", "uid", "gid", "cuid", "cgid", "key", "shmid", "semid", "msqid", "size", "nattch", "nsems", "cbytes", "qnum")

# Fields that may differ: a regular expression, and the reason.
EXPLAINED = {
    r"fd \d+ FIONREAD": "contents of queues are compared; the kernel counts a queue of datagrams by its first message",
    r"fd \d+ TIOCOUTQ": "a Unix socket shows the kernel's memory for waiting messages, which depends on their layout",
}


def picture(root, probe):
    """Returns {pid: {field: value}} of the tree of `root`. `probe` is the program thread_probe."""
    found = procstate.picture(root)
    pids = procstate.Pids(root)
    files = {}
    for pid in pids.processes:
        inside = pids.inside(pid)
        if inside not in found or (processes.status(pid) or {}).get("State", "Z").startswith("Z"):
            continue
        fields = found[inside]
        fields.update(_contents(pid, files, inside))
        fields["ipc"] = _in_namespaces(pid)
        # Memory comes before the probe, which uses some of it for a moment.
        fields["pages"] = _pages(pid)
    for pid, fields in fullstate.picture(root, probe).items():
        found.setdefault(pid, {}).update(fields)
    for pid, fields in found.items():
        _decode_timers(fields)
    _shared_files(files, found)
    _shared_objects(pids, found)
    return found


def differences(before, after, ignored=()):
    """Returns the differences of two pictures, as lines."""
    before = {pid: dict(fields) for pid, fields in before.items()}
    after = {pid: dict(fields) for pid, fields in after.items()}
    lines = []
    for pid in before.keys() & after.keys():
        old, new = before[pid], after[pid]
        lines += [f"pid {pid}: {line}" for line in _changed_pages(old.pop("pages", {}), new.pop("pages", {}), _rseq(old))]
        for name in sorted(name for name in old.keys() | new.keys() if re.search(r" pending", name)):
            if old.get(name) != new.get(name) and not any(re.fullmatch(known, name) for known in ignored):
                lines.append(f"pid {pid}: {name}: was {old.get(name)}, is {new.get(name)}")
        for name in sorted(old.keys() & new.keys()):
            if isinstance(old[name], Timer) and not (isinstance(new[name], Timer) and old[name].may_become(new[name])):
                lines.append(f"pid {pid}: {name}: was {old[name]}, is {new[name]}")
    return lines + fullstate.differences(before, after, [*ignored, *EXPLAINED])


class Timer:
    """Remaining time and interval of a timer, in nanoseconds."""

    def __init__(self, interval, remaining):
        self.interval = interval
        self.remaining = remaining

    def may_become(self, later):
        """Returns whether `later` may be this timer after some time."""
        # setitimer(2) adds a tick of at most 10 ms to timers of processor time.
        return (self.interval == later.interval and (self.remaining == 0) == (later.remaining == 0)
                and later.remaining <= self.remaining + 20_000_000)

    def __repr__(self):
        return f"{self.remaining / 1e9:.6f} s, then each {self.interval / 1e9:.6f} s"


def _decode_timers(fields):
    """Replaces raw values of timers."""
    for name, value in fields.items():
        if re.search(r" (ITIMER_\w+ left|timer \d+)$", name) and re.fullmatch(r"[0-9a-f]{64}", value):
            seconds, rest, left, left_rest = struct.unpack("4q", bytes.fromhex(value))
            unit = 1 if " timer " in name else 1000  # timespec or timeval
            fields[name] = Timer(seconds * 10**9 + rest * unit, left * 10**9 + left_rest * unit)


def _rseq(fields):
    """Returns the address ranges of rseq areas, in which the kernel writes the processor's number."""
    ranges = []
    for name, value in fields.items():
        if name.endswith(" rseq"):
            address, size, _ = value.split()
            ranges.append((int(address, 16), int(address, 16) + int(size)))
    return ranges


def _pages(pid):
    """Returns {address: (page, whether it belongs to a file)} of all pages in memory."""
    found = {}
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps, \
                open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                match = procstate.MAP.match(line)
                begin, end = int(match.group(1), 16), int(match.group(2), 16)
                if match.group(7) in (*procstate.KERNEL_MAPS, "[heap-kernel]"):
                    continue
                entries = array.array("Q", os.pread(pagemap.fileno(), (end - begin) // PAGE * 8, begin // PAGE * 8))
                for index, entry in enumerate(entries):
                    if entry & PRESENT:
                        found[begin + index * PAGE] = _page(memory.fileno(), begin + index * PAGE), bool(entry & OF_FILE)
    except OSError as error:
        found[0] = (str(error).encode(), False)
    return found


def _page(memory, address):
    try:
        return os.pread(memory, PAGE, address)
    except OSError as error:
        return str(error).encode()


def _changed_pages(old, new, rseq):
    """Describes pages that differ. A missing page of anonymous memory is zero."""
    lines = []
    zeroes = bytes(PAGE)
    for address in sorted(old.keys() | new.keys()):
        was, was_file = old.get(address, (None, False))
        now, now_file = new.get(address, (None, False))
        # The kernel may drop and read again pages of files.
        if was == now or (was is None and now_file) or (now is None and was_file):
            continue
        was, now = was or zeroes, now or zeroes
        changed = [at for at in range(min(len(was), len(now))) if was[at] != now[at]
                   and not any(begin <= address + at < end for begin, end in rseq)]
        if changed or len(was) != len(now):
            at = changed[0] if changed else 0
            lines.append(f"memory {address + at:x}: was {was[at:at + 8].hex()}, is {now[at:at + 8].hex()} ({len(changed)} bytes)")
    if len(lines) > 3:
        lines[3:] = [f"… and {len(lines) - 3} pages more"]
    return lines


def _contents(pid, files, inside):
    """Returns contents of descriptors. Collects in `files` all descriptors with their kinds, to find the shared ones."""
    fields = {}
    try:
        numbers = sorted(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
        process = _LIBC.syscall(_PIDFD_OPEN, pid, 0)
    except OSError:
        return fields
    try:
        for number in numbers:
            fd = _LIBC.syscall(_PIDFD_GETFD, process, number, 0)
            if fd < 0:
                continue
            try:
                info = os.fstat(fd)
                files.setdefault((stat.S_IFMT(info.st_mode), info.st_dev, info.st_ino), []).append((pid, inside, number))
                content = _content(fd, info, pid, number)
                if content is not None:
                    fields[f"fd {number} content"] = content
            finally:
                os.close(fd)
    finally:
        os.close(process)
    return fields


def _content(fd, info, pid, number):
    kind = stat.S_IFMT(info.st_mode)
    path = f"/proc/self/fd/{fd}"
    if kind == stat.S_IFSOCK:
        return _queue(fd)
    try:
        if kind == stat.S_IFREG and 0 < info.st_size <= 1 << 22 and not (os.readlink(f"/proc/{pid}/fd/{number}")).startswith("/proc/"):
            with open(path, "rb") as file:
                return hashlib.sha1(file.read()).hexdigest()
        if kind == stat.S_IFIFO:
            return _pipe(path)
    except OSError as error:
        return error.strerror
    return None


def _pipe(path):
    """Returns the bytes that wait in a pipe, and leaves them there (tee(2))."""
    waiting = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    ends = os.pipe2(os.O_NONBLOCK)
    try:
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, max(4096, fcntl.fcntl(waiting, fcntl.F_GETPIPE_SZ)))
        count = _LIBC.tee(waiting, ends[1], 1 << 22, 2)  # SPLICE_F_NONBLOCK
        found = b""
        while len(found) < count:
            found += os.read(ends[0], 1 << 20)
        return f"{len(found)} {hashlib.sha1(found).hexdigest()}"
    finally:
        for fd in (waiting, *ends):
            os.close(fd)


def _queue(fd):
    """Returns the messages that wait in a socket, and leaves them there."""
    with socket.socket(fileno=os.dup(fd)) as channel:
        if channel.family not in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
            return None
        if channel.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return None
        if channel.family != socket.AF_UNIX:
            # The first call takes a pending error, such as ECONNRESET, and a restore doesn't bring it back.
            channel.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            try:
                data = channel.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT)
                return f"{len(data)} {hashlib.sha1(data).hexdigest()}"
            except OSError as error:
                return error.strerror
        offset = channel.getsockopt(socket.SOL_SOCKET, SO_PEEK_OFF)
        # A read at the end of the queue would clear a pending error.
        messages = [f"poll {_poll(fd):x}"]
        try:
            channel.setsockopt(socket.SOL_SOCKET, SO_PEEK_OFF, 0)
            while len(messages) < 100 and not _poll(fd) & select.POLLERR:
                messages.append(_message(channel))
                if messages[-1].startswith("0 "):
                    break
        except OSError as error:
            messages.append(error.strerror)
        finally:
            channel.setsockopt(socket.SOL_SOCKET, SO_PEEK_OFF, offset)
        return messages


def _poll(fd):
    poll = select.poll()
    poll.register(fd, select.POLLIN | select.POLLRDHUP)
    events = poll.poll(0)
    return events[0][1] if events else 0


def _message(channel):
    """Returns the next message, with its sender and the kinds of passed descriptors."""
    data, ancillary, flags, sender = channel.recvmsg(1 << 17, socket.CMSG_SPACE(64 * 4) + socket.CMSG_SPACE(12),
                                                     socket.MSG_PEEK | socket.MSG_DONTWAIT | 0x40000000)
    passed = []
    for level, kind, value in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            for fd in array.array("i", value[:len(value) // 4 * 4]):
                passed.append(re.sub(r"\d+", "N", os.readlink(f"/proc/self/fd/{fd}").rpartition("/")[2]))
                passed.append(f"{fcntl.fcntl(fd, fcntl.F_GETFL) & ~procstate.OPENING_FLAGS:o}")
                os.close(fd)
    return f"{len(data)} {hashlib.sha1(data).hexdigest()} {passed} {flags & ~0x40000000:x} {sender!r}"


def _shared_files(files, found):
    """Adds to each descriptor the first descriptor that refers to the same open file description."""
    for users in files.values():
        firsts = []
        for pid, inside, number in users:
            for other, other_inside, other_number in firsts:
                if _LIBC.syscall(_KCMP, pid, other, KCMP_FILE, number, other_number) == 0:
                    found[inside][f"fd {number} shared"] = f"with fd {other_number} of {other_inside}"
                    break
            else:
                firsts.append((pid, inside, number))


def _shared_objects(pids, found):
    """Adds to each process the first one that shares an object with it."""
    alive = [pid for pid in pids.processes if pids.inside(pid) in found
             and not (processes.status(pid) or {}).get("State", "Z").startswith("Z")]
    for at, pid in enumerate(alive):
        for name, kind in SHARED.items():
            for other in alive[:at]:
                if _LIBC.syscall(_KCMP, pid, other, kind, 0, 0) == 0:
                    if name != "semaphore undo" and name != "I/O context":
                        found[pids.inside(pid)][f"shared {name}"] = pids.inside(other)
                    break


def _in_namespaces(pid):
    """Returns objects of the process's IPC namespace, and the names of its UTS namespace. A child process looks, because
    a process sees these objects only in its own namespaces."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for name, kind in (("ipc", CLONE_NEWIPC), ("uts", CLONE_NEWUTS)):
                fd = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
                if _LIBC.setns(fd, kind) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            os.write(write, json.dumps(_ipc()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "nothing"


def _ipc():
    found = [list(os.uname())[1:2]]
    for kind in ("shm", "sem", "msg"):
        with open(f"/proc/sysvipc/{kind}", encoding="ascii") as file:
            names = file.readline().split()
            for line in file:
                values = dict(zip(names, line.split()))
                entry = [kind, *(values[name] for name in IPC_IDS if name in values)]
                if kind == "sem":
                    entry += [_LIBC.semctl(int(values["semid"]), index, 12) for index in range(int(values["nsems"]))]  # GETVAL
                if kind == "shm":
                    entry.append(_segment(int(values["shmid"]), int(values["size"])))
                if kind == "msg":
                    entry += [_copy(int(values["msqid"]), index) for index in range(int(values["qnum"]))]
                found.append(entry)
    return found


def _segment(number, size):
    _LIBC.shmat.restype = ctypes.c_void_p
    address = _LIBC.shmat(number, None, 0o10000)  # SHM_RDONLY
    if address == ctypes.c_void_p(-1).value:
        return os.strerror(ctypes.get_errno())
    return hashlib.sha1(ctypes.string_at(address, size)).hexdigest()


def _copy(number, index):
    """Returns a message of a queue, and leaves it there (MSG_COPY)."""
    room = ctypes.create_string_buffer(8 + 8192)
    size = _LIBC.msgrcv(number, room, ctypes.c_size_t(8192), ctypes.c_long(index), 0o40000 | 0o4000)
    return os.strerror(ctypes.get_errno()) if size < 0 else room.raw[:8 + size].hex()
