# SPDX-License-Identifier: GPL-2.0-only
"""Lets one system call of criu fail, chosen by the code that makes it.

A call site is the number of the call with the addresses in criu from which it was called. A first run records all sites, and
each later run lets one of them fail: the kernel gets the number -1 instead of the call's, and criu gets the error.
"""

import bisect
import ctypes
import errno
import os
import platform
import re
import signal
import struct
import subprocess
import time

from . import call_kill, processes

POKEUSER = 6
INTERRUPT = 0x4207
EVENT_EXEC = 4
FOLLOW = call_kill.TRACESYSGOOD | 2 | 4 | 8 | 16  # TRACEFORK, TRACEVFORK, TRACECLONE and TRACEEXEC
ORIG_RAX, RAX = 15 * 8, 10 * 8  # offsets in struct user
NO_CALL = -1
TRACEME, ATTACH = 0, 16

STACK_WORDS = 1024  # examined words of a stack
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


class _Text:
    """Code of a binary in the memory of a process that executes it."""

    def __init__(self, pid, binary):
        self.begin = self.end = None
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[5].strip() == binary and "x" in fields[1]:
                    self.begin, self.end = (int(number, 16) for number in fields[0].split("-"))
                    self.shift = self.begin - int(fields[2], 16)  # addresses minus offsets in the file
        if self.begin is None:
            raise OSError(0, f"process {pid} doesn't execute {binary}")
        with open(binary, "rb") as file:
            file.seek(self.begin - self.shift)
            self.code = file.read(self.end - self.begin)
        self.known = {}

    def is_return(self, address):
        """Returns whether the instruction before an address is a call."""
        if address not in self.known:
            before = self.code[max(0, address - self.begin - 7):address - self.begin]
            self.known[address] = (before[-5:-4] == b"\xe8" or any(
                before[-length:-length + 1] == b"\xff" and before[-length + 1] >> 3 & 7 == 2
                for length in (2, 3, 4, 6, 7) if len(before) >= length))
        return self.known[address]


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
        self.text = None  # code of criu, after its execve(2)
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
            if pid == self.first and not self.text:
                self.text = _Text(pid, self.binary)
            else:
                request = call_kill.PTRACE_DETACH  # another program
        elif event == call_kill.EVENT_STOP:
            if number in call_kill.STOPS and self.text:
                request = call_kill.PTRACE_LISTEN
        elif number == signal.SIGTRAP | 0x80:
            if self.text and not self._called(pid):
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
        try:
            memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            stack = b""
            for words in (STACK_WORDS, STACK_WORDS // 8, 32):  # a stack may end before
                try:
                    stack = os.pread(memory, 8 * words, sp)
                    break
                except OSError:
                    continue
        finally:
            os.close(memory)
        begin, end = self.text.begin, self.text.end
        words = struct.unpack(f"<{len(stack) // 8}Q", stack[:len(stack) & ~7])
        chain = []
        for word in words:
            if begin <= word < end and self.text.is_return(word):
                chain.append(word - self.text.shift)
                if len(chain) == DEPTH:
                    break
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
