# SPDX-License-Identifier: GPL-2.0-only
"""Lets one system call of criu fail, chosen by the code that makes it.

A call site is the number of the call with the return addresses in criu of its callers. A first run records all sites, and each
later run lets one of them fail: the kernel gets the number -1 instead of the call's, and criu gets the error.

The callers come from call frame information. Other words of a stack may look like return addresses, but are of calls that have
returned. Which of them remain differs between processors.
"""

import bisect
import ctypes
import errno
import functools
import os
import platform
import re
import signal
import struct
import subprocess
import time

from . import call_kill, processes

PEEKUSER, POKEUSER = 3, 6
INTERRUPT = 0x4207
EVENT_EXEC = 4
FOLLOW = call_kill.TRACESYSGOOD | 2 | 4 | 8 | 16  # TRACEFORK, TRACEVFORK, TRACECLONE and TRACEEXEC
ORIG_RAX, RAX, RBP = 15 * 8, 10 * 8, 4 * 8  # offsets in struct user
NO_CALL = -1
TRACEME, ATTACH = 0, 16

MOST_FRAMES = 64  # examined frames of a stack
DEPTH = 4  # addresses of a site
INTERPRETER_CALLS = 3  # sites for equal calls of the interpreter, which has no addresses in criu

PTRACE_CALL, FCNTL_CALL, PRCTL_CALL = 101, 72, 157

# System calls of x86-64 with errors that the kernel gives without a defect of the caller. Other calls don't fail. close(2) is
# none of them, because criu syncs what it writes, and the kernel closes a file in any case.
CALLS = {
    0: ("read", "EIO EINTR ENOMEM"), 1: ("write", "ENOSPC EIO EINTR"), 2: ("open", "EMFILE EACCES EIO"),
    4: ("stat", "EACCES EIO"), 5: ("fstat", "EIO ENOMEM"), 6: ("lstat", "EACCES EIO"),
    7: ("poll", "EINTR ENOMEM"), 8: ("lseek", "EIO"), 9: ("mmap", "ENOMEM EAGAIN"), 10: ("mprotect", "ENOMEM"),
    11: ("munmap", "ENOMEM"), 16: ("ioctl", "EIO ENOMEM EPERM"), 17: ("pread64", "EIO ENOMEM"),
    18: ("pwrite64", "ENOSPC EIO"), 19: ("readv", "EIO ENOMEM"), 20: ("writev", "ENOSPC EIO EINTR"),
    21: ("access", "EACCES EIO"), 22: ("pipe", "EMFILE"), 25: ("mremap", "ENOMEM"), 28: ("madvise", "EAGAIN ENOMEM"),
    29: ("shmget", "ENOMEM EACCES"), 30: ("shmat", "ENOMEM EACCES"), 31: ("shmctl", "EACCES EPERM"),
    32: ("dup", "EMFILE"), 33: ("dup2", "EMFILE EBUSY"), 38: ("setitimer", "EINVAL"), 40: ("sendfile", "EIO ENOMEM"),
    41: ("socket", "EMFILE ENOMEM EACCES"), 42: ("connect", "EACCES EAGAIN"), 43: ("accept", "EMFILE EINTR"),
    44: ("sendto", "ENOBUFS EPERM"), 45: ("recvfrom", "EINTR ENOMEM"), 46: ("sendmsg", "ENOBUFS EPERM"),
    47: ("recvmsg", "EINTR ENOMEM"), 48: ("shutdown", "ENOBUFS"), 49: ("bind", "EADDRINUSE EACCES"),
    50: ("listen", "EADDRINUSE"), 51: ("getsockname", "ENOBUFS"), 52: ("getpeername", "ENOBUFS"),
    53: ("socketpair", "EMFILE ENOMEM"), 54: ("setsockopt", "EPERM ENOMEM"), 55: ("getsockopt", "ENOMEM EPERM"),
    56: ("clone", "EAGAIN ENOMEM"), 57: ("fork", "EAGAIN ENOMEM"), 58: ("vfork", "EAGAIN ENOMEM"),
    59: ("execve", "ENOMEM EACCES"), 61: ("wait4", "EINTR"), 62: ("kill", "EPERM"), 64: ("semget", "ENOMEM EACCES"),
    65: ("semop", "ENOMEM EINTR"), 66: ("semctl", "ENOMEM EACCES"), 68: ("msgget", "ENOMEM EACCES"),
    69: ("msgsnd", "ENOMEM EAGAIN"), 70: ("msgrcv", "ENOMEM EINTR"), 71: ("msgctl", "EPERM EACCES"),
    72: ("fcntl", "EMFILE EPERM"), 73: ("flock", "EAGAIN ENOLCK EINTR"), 74: ("fsync", "EIO ENOSPC"),
    75: ("fdatasync", "EIO ENOSPC"), 76: ("truncate", "EIO"), 77: ("ftruncate", "ENOSPC EIO"), 78: ("getdents", "EIO"),
    80: ("chdir", "EACCES ENOMEM"), 81: ("fchdir", "EACCES"), 82: ("rename", "EIO ENOSPC"), 83: ("mkdir", "ENOSPC EACCES"),
    84: ("rmdir", "EBUSY EIO"), 87: ("unlink", "EBUSY EIO"), 88: ("symlink", "ENOSPC EACCES"), 89: ("readlink", "EACCES EIO"),
    90: ("chmod", "EPERM EIO"), 91: ("fchmod", "EPERM EIO"), 93: ("fchown", "EPERM EIO"), 94: ("lchown", "EPERM EIO"),
    101: ("ptrace", "EPERM EIO"), 105: ("setuid", "EAGAIN EPERM"), 106: ("setgid", "EPERM"), 109: ("setpgid", "EPERM EACCES"),
    112: ("setsid", "EPERM"), 115: ("getgroups", "EPERM"), 116: ("setgroups", "EPERM ENOMEM"), 117: ("setresuid", "EAGAIN EPERM"),
    119: ("setresgid", "EPERM"), 125: ("capget", "EPERM"), 126: ("capset", "EPERM"), 133: ("mknod", "ENOSPC EPERM"),
    135: ("personality", "EPERM"), 137: ("statfs", "EIO ENOMEM"), 138: ("fstatfs", "EIO ENOMEM"),
    141: ("setpriority", "EACCES EPERM"), 142: ("sched_setparam", "EPERM"), 144: ("sched_setscheduler", "EPERM"),
    155: ("pivot_root", "EBUSY"), 157: ("prctl", "EPERM EACCES"), 158: ("arch_prctl", "EPERM"), 160: ("setrlimit", "EPERM"),
    161: ("chroot", "EPERM"), 162: ("sync", "EIO"), 165: ("mount", "EPERM ENOMEM EBUSY"), 166: ("umount2", "EBUSY EPERM"),
    170: ("sethostname", "EPERM"), 203: ("sched_setaffinity", "EINVAL EPERM"), 204: ("sched_getaffinity", "ENOMEM"),
    217: ("getdents64", "EIO ENOMEM"), 222: ("timer_create", "EAGAIN"), 223: ("timer_settime", "EINVAL"),
    229: ("clock_nanosleep", "EINTR"), 232: ("epoll_wait", "EINTR"), 233: ("epoll_ctl", "ENOMEM ENOSPC"),
    234: ("tgkill", "EAGAIN EPERM"), 240: ("mq_open", "EMFILE EACCES"), 247: ("waitid", "EINTR"),
    250: ("keyctl", "EACCES ENOMEM"), 251: ("ioprio_set", "EPERM"), 254: ("inotify_add_watch", "ENOSPC ENOMEM"),
    257: ("openat", "EMFILE EACCES EIO"), 258: ("mkdirat", "ENOSPC EACCES"), 259: ("mknodat", "ENOSPC EPERM"),
    260: ("fchownat", "EPERM EIO"), 262: ("newfstatat", "EACCES EIO"), 263: ("unlinkat", "EBUSY EIO"),
    264: ("renameat", "EIO ENOSPC"), 265: ("linkat", "EMLINK EPERM EACCES"), 266: ("symlinkat", "ENOSPC EACCES"),
    267: ("readlinkat", "EACCES EIO"), 268: ("fchmodat", "EPERM EIO"), 269: ("faccessat", "EACCES EIO"),
    270: ("pselect6", "EINTR"), 271: ("ppoll", "EINTR ENOMEM"), 272: ("unshare", "EPERM ENOMEM ENOSPC"),
    273: ("set_robust_list", "EINVAL"), 275: ("splice", "EIO ENOMEM"), 276: ("tee", "ENOMEM"), 277: ("sync_file_range", "EIO"),
    278: ("vmsplice", "ENOMEM"), 280: ("utimensat", "EPERM EACCES"), 281: ("epoll_pwait", "EINTR"), 282: ("signalfd", "EMFILE"),
    283: ("timerfd_create", "EMFILE ENOMEM"), 284: ("eventfd", "EMFILE"), 285: ("fallocate", "ENOSPC EIO"),
    286: ("timerfd_settime", "EINVAL"), 288: ("accept4", "EMFILE EINTR"), 289: ("signalfd4", "EMFILE ENOMEM"),
    290: ("eventfd2", "EMFILE ENOMEM"), 291: ("epoll_create1", "EMFILE ENOMEM"), 292: ("dup3", "EMFILE EBUSY"),
    293: ("pipe2", "EMFILE ENFILE"), 294: ("inotify_init1", "EMFILE"), 295: ("preadv", "EIO ENOMEM"),
    296: ("pwritev", "ENOSPC EIO"), 300: ("fanotify_init", "EMFILE EPERM"), 301: ("fanotify_mark", "ENOSPC ENOMEM"),
    302: ("prlimit64", "EPERM"), 303: ("name_to_handle_at", "EIO ENOMEM"), 304: ("open_by_handle_at", "EMFILE EPERM"),
    306: ("syncfs", "EIO ENOSPC"), 307: ("sendmmsg", "ENOBUFS"), 308: ("setns", "EPERM ENOMEM"),
    310: ("process_vm_readv", "EPERM ENOMEM"), 311: ("process_vm_writev", "EPERM ENOMEM"), 312: ("kcmp", "EPERM"),
    314: ("sched_setattr", "EPERM"), 315: ("sched_getattr", "EPERM"), 316: ("renameat2", "EIO ENOSPC"),
    317: ("seccomp", "ENOMEM EACCES"), 318: ("getrandom", "EINTR EAGAIN"), 319: ("memfd_create", "EMFILE ENOMEM"),
    321: ("bpf", "EPERM"), 322: ("execveat", "ENOMEM EACCES"), 323: ("userfaultfd", "EMFILE EPERM"),
    326: ("copy_file_range", "EIO ENOSPC"), 327: ("preadv2", "EIO"), 328: ("pwritev2", "ENOSPC EIO"), 332: ("statx", "EACCES EIO"),
    424: ("pidfd_send_signal", "EPERM"), 428: ("open_tree", "EMFILE EPERM"), 429: ("move_mount", "EPERM EBUSY"),
    430: ("fsopen", "EMFILE EPERM"), 431: ("fsconfig", "EPERM ENOMEM"), 432: ("fsmount", "EMFILE EPERM"),
    434: ("pidfd_open", "EMFILE ENOMEM"), 435: ("clone3", "EAGAIN ENOMEM"), 436: ("close_range", "EMFILE ENOMEM"),
    437: ("openat2", "EMFILE EACCES EIO"), 438: ("pidfd_getfd", "EPERM EMFILE"), 439: ("faccessat2", "EACCES EIO"),
    440: ("process_madvise", "ENOMEM EPERM"), 442: ("mount_setattr", "EPERM"), 444: ("landlock_create_ruleset", "EMFILE"),
    447: ("memfd_secret", "EMFILE"), 448: ("process_mrelease", "EINTR"), 457: ("statmount", "EPERM ENOMEM"),
    458: ("listmount", "EPERM ENOMEM"), 467: ("open_tree_attr", "EPERM"),
}


def is_possible():
    """Returns whether the tracer knows the registers and call numbers of this processor."""
    return platform.machine() == "x86_64"


# Requests of ptrace(2) that fail for other reasons than the end of the thread: PTRACE_ATTACH, PTRACE_GETREGSET, PTRACE_SETREGSET,
# PTRACE_SEIZE, PTRACE_SECCOMP_GET_FILTER, PTRACE_SECCOMP_GET_METADATA, PTRACE_GET_RSEQ_CONFIGURATION and those of user dispatch.
PTRACE_REQUESTS = {ATTACH, 0x4204, 0x4205, call_kill.PTRACE_SEIZE, 0x420C, 0x420D, 0x420F, 0x4210, 0x4211}
# Commands of fcntl(2) that can't fail: F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETOWN, F_GETSIG, F_GETOWN_EX, F_GETPIPE_SZ and F_GET_SEALS.
FCNTL_COMMANDS = {1, 2, 3, 4, 9, 11, 16, 1032, 1034}
# Requests of prctl(2) that can't fail: PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME and PR_GET_NAME.
PRCTL_REQUESTS = {1, 4, 15, 16}


def may_fail(call, first, second):
    """Returns whether the kernel may let a call with these arguments fail, though its caller has no defect."""
    if call == PTRACE_CALL:
        return first in PTRACE_REQUESTS
    if call == FCNTL_CALL:
        return second not in FCNTL_COMMANDS
    if call == PRCTL_CALL:
        return first not in PRCTL_REQUESTS
    return True


class Failure:
    """A call that fails: a site, which of the calls of this site (from 1), and the number of the error."""

    def __init__(self, site, which, error):
        self.site = site
        self.which = which
        self.error = error

    def __str__(self):
        name = CALLS[int(self.site.split(":")[0])][0]
        return f"{errno.errorcode[self.error]} for call {self.which} of {name} at {self.site.split(':')[1]}"


def errors_of(site):
    """Returns the numbers of the errors that the call of a site may give."""
    return [getattr(errno, name) for name in CALLS[int(site.split(":")[0])][1].split()]


class CallFail:
    """Tracer of a criu that call_kill.stop_self() has stopped, with all processes that it creates. It counts the calls of each
    site, and lets one fail (`failure`, or None). `result`: path for the counts.

    A process of a restored tree is traced until criu itself seizes it.
    """

    def __init__(self, init, pid, binary, failure, result):
        self.init = init
        self.pid = pid
        self.path = result
        _rules_of(binary)  # reads them once for all tracers
        self.tracer = os.fork()
        if self.tracer == 0:
            code = 1
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
                _Tracing(pid, binary, failure, result).run()
                code = 0
            finally:
                os._exit(code)

    def finish(self, seconds, daemons=False):
        """Waits for the ends of criu's first process and of the tracer. Returns the first one's exit code, the number of calls
        of each site, and whether a call has failed. `daemons`: processes of criu may live on."""
        code = self.init.wait(self.pid, seconds, "the end of a traced criu").code
        if daemons:
            try:
                os.kill(self.tracer, signal.SIGTERM)  # the kernel then releases all traced processes
            except ProcessLookupError:
                pass  # no process lives on
        ended = self.init.wait(self.tracer, seconds, "the ends of all processes of a traced criu").code
        if ended != 0 and not (daemons and ended == -signal.SIGTERM):
            raise OSError(0, "the tracer of criu failed")
        sites, failed = {}, False
        with open(self.path, encoding="ascii") as file:
            for line in file:
                if line == "failed\n":
                    failed = True
                else:
                    sites[line.strip()] = sites.get(line.strip(), 0) + 1
        return code, sites, failed


@functools.lru_cache(maxsize=None)
def _rules_of(path):
    """Returns a sorted list of addresses in a file, and the unwind rule from each address on. A rule is the location of the
    canonical frame address and of the caller's rbp, in words of readelf; None for code without a caller."""
    listed = subprocess.run(["readelf", "-wF", path], capture_output=True, text=True, check=False).stdout
    found, ends, initial = {}, [], {}
    entry, names = None, []
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[3] == "CIE":
            entry = fields[0]
        elif len(fields) > 5 and fields[3] == "FDE":
            entry = None
            begin, _, end = fields[5].removeprefix("pc=").partition("..")
            found[int(begin, 16)] = initial.get(fields[4].removeprefix("cie="))
            ends.append(int(end, 16))
        elif fields[:1] == ["LOC"]:
            names = fields
        elif names and len(fields) == len(names) and len(fields[0]) == 16:
            row = dict(zip(names, fields))
            rule = (row["CFA"], row.get("rbp", "u")) if row.get("ra") == "c-8" else None
            if entry:
                initial[entry] = rule
            else:
                found[int(fields[0], 16)] = rule
    for end in ends:
        found.setdefault(end, None)
    addresses = sorted(found)
    return addresses, [found[address] for address in addresses]


class _Stack:
    """Reader of the stacks of criu's threads. It finds callers by the sections .eh_frame of the executed files."""

    def __init__(self, binary):
        self.binary = os.path.realpath(binary)
        self.files = []  # begin and end in memory, address minus offset in the file, path
        self.known = {}

    def chain(self, pid, ip, sp, rbp):
        """Returns the offsets of the innermost return addresses in the binary, at most DEPTH."""
        chain = []
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            for frame in range(MOST_FRAMES):
                # A return address may be behind the last instruction of its function.
                path, offset, rule = self._rule(pid, ip - (frame > 0))
                if frame > 0 and path == self.binary:
                    chain.append(offset + 1)
                if not rule or len(chain) == DEPTH:
                    break
                base, _, distance = rule[0].partition("+")
                if base not in ("rsp", "rbp"):
                    break
                sp, below = (sp if base == "rsp" else rbp) + int(distance), rule[1]
                if below.startswith("c-"):
                    rbp = self._word(memory, sp - int(below[2:]))
                ip = self._word(memory, sp - 8)
        except (OSError, OverflowError):
            pass  # the stack ends
        finally:
            os.close(memory)
        return chain

    @staticmethod
    def _word(memory, address):
        return int.from_bytes(os.pread(memory, 8, address), "little")

    def _rule(self, pid, address):
        """Returns the file and the offset of an address, and the rule that finds its caller."""
        if address not in self.known:
            if not any(begin <= address < end for begin, end, _, _ in self.files):
                self._read_maps(pid)
            self.known[address] = None, 0, None
            for begin, end, shift, path in self.files:
                if begin <= address < end:
                    addresses, rules = _rules_of(path)
                    at = bisect.bisect_right(addresses, address - shift) - 1
                    self.known[address] = path, address - shift, rules[at] if at >= 0 else None
        return self.known[address]

    def _read_maps(self, pid):
        self.files = []
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                fields = line.rstrip("\n").split(None, 5)
                if len(fields) == 6 and fields[5].startswith("/") and "x" in fields[1]:
                    begin, end = (int(number, 16) for number in fields[0].split("-"))
                    self.files.append((begin, end, begin - int(fields[2], 16), fields[5]))


class _Tracing:
    """The code of the tracer."""

    def __init__(self, pid, binary, failure, result):
        self.ptrace_call = ctypes.CDLL(None, use_errno=True).ptrace
        self.ptrace_call.argtypes = [ctypes.c_long] * 4
        self.ptrace_call.restype = ctypes.c_long
        self.info = ctypes.create_string_buffer(88)  # struct ptrace_syscall_info
        self.address = ctypes.addressof(self.info)
        self.first = pid
        self.binary = binary
        self.failure = failure
        self.number = int(failure.site.split(":")[0]) if failure else None
        self.result = os.open(result, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self.stack = None  # set after the execve(2) of criu
        self.hits = 0
        self.in_interpreter = {}
        self.files = {}

    def run(self):
        """Traces all processes to their ends."""
        while (processes.status(self.first) or {}).get("State", "X")[0] not in "TX":
            time.sleep(0.0005)
        self._ptrace(call_kill.PTRACE_SEIZE, self.first, FOLLOW)
        os.kill(self.first, signal.SIGCONT)
        while True:
            try:
                pid, status = os.waitpid(-1, call_kill.WALL)
            except ChildProcessError:
                return
            if os.WIFSTOPPED(status):
                self._stopped(pid, status)

    def _stopped(self, pid, status):
        number, event = os.WSTOPSIG(status), status >> 16
        passed, request = 0, call_kill.PTRACE_SYSCALL
        if event == EVENT_EXEC:
            if pid == self.first and not self.stack:
                self.stack = _Stack(self.binary)
            else:
                request = call_kill.PTRACE_DETACH  # another program
        elif event == call_kill.EVENT_STOP:
            if number in call_kill.STOPS and self.stack:
                request = call_kill.PTRACE_LISTEN
        elif number == signal.SIGTRAP | 0x80:
            if self.stack and not self._called(pid):
                request = call_kill.PTRACE_DETACH
        elif event == 0:
            passed = number
        self._ptrace(request, pid, passed)

    def _called(self, pid):
        """Handles a stop at a system call. Returns False if the process is to be released."""
        if self.ptrace_call(call_kill.PTRACE_GET_SYSCALL_INFO, pid, len(self.info), self.address) < 0:
            return True
        if self.info.raw[0] != 1:
            return True
        # The first two arguments of ptrace(2) are a request and a thread.
        ip, sp, call, request, target = struct.unpack_from("<QQQQQ", self.info.raw, 8)
        if call in CALLS and (self.number is None or call == self.number) and may_fail(call, request, target):
            site = self._site(pid, call, ip, sp)
            if site and self.failure is None:
                os.write(self.result, f"{site}\n".encode())
            elif site and site == self.failure.site:
                self.hits += 1
                if self.hits == self.failure.which:
                    os.write(self.result, b"failed\n")
                    self.number = NO_CALL
                    self._fail(pid)
                    return True
        if call == PTRACE_CALL:
            if request == TRACEME:
                return False
            if request in (call_kill.PTRACE_SEIZE, ATTACH):
                self._release(target)
        return True

    def _site(self, pid, call, ip, sp):
        rbp = self.ptrace_call(PEEKUSER, pid, RBP, 0) & (1 << 64) - 1
        try:
            chain = self.stack.chain(pid, ip, sp, rbp)
        except OSError:
            return None  # the process has ended
        if chain:
            return f"{call}:{'<'.join(f'{offset:x}' for offset in chain)}"
        if not self._is_anonymous(pid, ip):
            return None
        count = self.in_interpreter[pid, call] = self.in_interpreter.get((pid, call), 0) + 1
        return f"{call}:interpreter-{count}" if count <= INTERPRETER_CALLS else None

    def _is_anonymous(self, pid, address):
        """Returns whether an address is in no file: criu's interpreter runs there, and not the start of a program."""
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                fields = line.split(None, 5)
                begin, end = (int(number, 16) for number in fields[0].split("-"))
                if begin <= address < end:
                    return len(fields) < 6 or not fields[5].startswith("/") or "memfd:" in fields[5]
        return False

    def _fail(self, pid):
        """Lets the call that a process has entered fail."""
        self._poke(pid, ORIG_RAX, NO_CALL)
        self._ptrace(call_kill.PTRACE_SYSCALL, pid, 0)
        _, status = os.waitpid(pid, call_kill.WALL)
        if os.WIFSTOPPED(status):
            self._poke(pid, RAX, -self.failure.error)

    def _release(self, pid):
        """Releases a thread that criu is about to seize."""
        if self.ptrace_call(INTERRUPT, pid, 0, 0) < 0:
            return  # another process traces it, or none
        _, status = os.waitpid(pid, call_kill.WALL)
        if os.WIFSTOPPED(status):
            is_signal = status >> 16 == 0 and os.WSTOPSIG(status) != signal.SIGTRAP | 0x80
            self._ptrace(call_kill.PTRACE_DETACH, pid, os.WSTOPSIG(status) if is_signal else 0)

    def _poke(self, pid, offset, value):
        if self.ptrace_call(POKEUSER, pid, offset, value) < 0 and ctypes.get_errno() != errno.ESRCH:
            raise OSError(ctypes.get_errno(), f"change a register of {pid}")

    def _ptrace(self, request, pid, data):
        if self.ptrace_call(request, pid, 0, data) < 0 and ctypes.get_errno() != errno.ESRCH:  # ESRCH: it was killed
            raise OSError(ctypes.get_errno(), f"ptrace request {request} of {pid}")


class Symbols:
    """Functions of a binary, for descriptions of sites."""

    def __init__(self, binary):
        listed = subprocess.run(["nm", "-C", "--defined-only", binary], capture_output=True, text=True, check=False).stdout
        found = sorted((int(line.split()[0], 16), line.split(" ", 2)[2]) for line in listed.splitlines()
                       if line.split()[1] in "tTwW")
        self.addresses = [address for address, _ in found]
        self.names = [name for _, name in found]

    def describe(self, site):
        """Returns the name of the call and the functions that made it, innermost first."""
        call, _, chain = site.partition(":")
        if chain.startswith("interpreter"):
            return f"{CALLS[int(call)][0]} by the {chain}"
        return f"{CALLS[int(call)][0]} in " + " < ".join(self._name(int(offset, 16)) for offset in chain.split("<"))

    def _name(self, offset):
        at = bisect.bisect_right(self.addresses, offset - 1) - 1
        name = self.names[at] if at >= 0 else f"{offset:x}"
        name = re.sub(r"\(anonymous namespace\)::|criu::|\[clone [^]]*\]|std::__cxx11::", "", name)
        while re.search(r"<[^<>]*>", name):
            name = re.sub(r"<[^<>]*>", "", name)
        return name.partition("(")[0].strip()
