# SPDX-License-Identifier: GPL-2.0-only
"""Processes of a pid namespace, seen from its init."""

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import time

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C"}
"""Environment of started programs."""

PATIENCE = 60
"""Timeout in seconds for all waits, large enough for a busy machine. Tests of time limits use other values."""


class Timeout(Exception):
    """Error for an event that didn't happen in time."""


class Ended:
    """Exit of a child."""

    def __init__(self, status, usage):
        self.code = os.waitstatus_to_exitcode(status)  # negative: the signal
        self.peak_rss = usage.ru_maxrss * 1024  # in bytes


class Init:
    """Single-threaded init of a namespace: starts processes and reaps all that end, also orphans."""

    def __init__(self):
        # sigtimedwait(2) reports each end at once.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        self.ended = {}
        self._started = set()
        self._adopts = True

    @contextlib.contextmanager
    def adopting_nobody(self):
        """Scope in which only children of this process are reaped, as by the init of many containers."""
        self._adopts = False
        try:
            yield
        finally:
            self._adopts = True

    def start(self, argv, cwd, output, env=None, session=False, before_exec=None, own_pids=False,
              own_users=None, passed=None):
        """Starts argv with stdin from /dev/null and both outputs appended to a file. Returns its pid.

        passed: further descriptors, by their numbers in the new process. own_pids: starts it as init of a new pid
        namespace. own_users: in addition as user 0 of a user namespace, which is USERS outside. "denied": that
        namespace denies setgroups(2), and USERS + 5 is the only supplementary group.
        """
        environment = ENVIRONMENT if env is None else env
        if own_users:
            pid = _fork_in_new_user_namespace(own_users == "denied")
        else:
            pid = _fork_in_new_pid_namespace() if own_pids else os.fork()
        if pid:
            self.ended.pop(pid, None)
            self._started.add(pid)
            return pid
        try:
            if session:
                os.setsid()
            os.chdir(cwd)
            null = os.open("/dev/null", os.O_RDONLY)
            out = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.dup2(null, 0)
            os.dup2(out, 1)
            os.dup2(out, 2)
            _pass_on(passed or {})
            # Python ignores these two signals; programs expect the defaults.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, set())
            if before_exec:
                before_exec()
            os.execve(argv[0], argv, environment)
        except BaseException as error:  # pylint: disable=broad-except
            os.write(2, f"exec {argv[0]}: {error}\n".encode())
        finally:
            os._exit(127)

    def reap(self):
        """Reaps all ended children, without waiting."""
        if self._adopts:
            while self._reap(-1):
                pass
        else:
            for pid in sorted(self._started):
                self._reap(pid)

    def _reap(self, which):
        try:
            pid, status, usage = os.wait4(which, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return False
        self._started.discard(pid)
        self.ended[pid] = Ended(status, usage)
        return True

    def pause(self, seconds):
        """Sleeps until a child ends, at most `seconds`."""
        if seconds > 0:
            signal.sigtimedwait({signal.SIGCHLD}, seconds)
        self.reap()

    def until(self, condition, seconds, what):
        """Waits for a condition. Checks it when a child ends, and every few milliseconds."""
        deadline = time.monotonic() + seconds
        self.reap()
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise Timeout(f"{what}: not within {seconds:.0f} s")
            self.pause(0.003)

    def wait(self, pid, seconds, what="end of a process"):
        """Waits for the end of a child or an adopted orphan."""
        deadline = time.monotonic() + seconds
        self.reap()
        while pid not in self.ended:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Timeout(f"{what} (pid {pid}): not within {seconds:.0f} s")
            self.pause(left)
        return self.ended.pop(pid)

    def kill_all(self):
        """Kills and reaps all other processes of the namespace."""
        while pids() != [1]:
            for pid in pids():
                if pid != 1:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            self.pause(0.002)
        self.reap()
        self.ended.clear()


def _pass_on(passed):
    """Closes all descriptors from 3 on except these, and moves these to their numbers."""
    beyond = 512
    copies = {number: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, beyond) for number, fd in passed.items()}
    os.closerange(3, beyond)
    for number, copy in copies.items():
        os.dup2(copy, number)
    os.closerange(beyond, 1024)


CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

# Uid and gid outside of root in a user namespace, and the size of the mapped ranges.
USERS = 100000
USER_COUNT = 65536


def _fork_in_new_user_namespace(denied):
    """Forks. The child is init of a pid namespace that belongs to a new user namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    here, there = socket.socketpair()
    helper = os.fork()
    if helper == 0:
        if denied:
            os.setgroups([USERS + 5])
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0:
            os._exit(1)
        there.send(b"ready")
        there.recv(1)
        pid = os.fork()
        if pid:
            there.send(str(pid).encode())
            os._exit(0)  # reparents the child to this init
        here.close()
        there.close()
        if not denied:
            os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        return 0
    there.close()
    if here.recv(5) != b"ready":
        raise OSError("no user namespace could be made")
    if denied:
        with open(f"/proc/{helper}/setgroups", "w", encoding="ascii") as file:
            file.write("deny")
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{helper}/{name}", "w", encoding="ascii") as file:
            file.write(f"0 {USERS} {USER_COUNT}")
    here.send(b"g")
    pid = int(here.recv(20))
    here.close()
    os.waitpid(helper, 0)
    return pid


def _fork_in_new_pid_namespace():
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newpid = CLONE_NEWPID
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    if libc.unshare(clone_newpid) != 0:
        raise OSError(ctypes.get_errno(), "make a pid namespace")
    pid = os.fork()
    if pid:
        libc.setns(home, clone_newpid)
    os.close(home)
    return pid


def depth(pid):
    """Returns how many levels the pid namespace of a process is below this one; 0 if the process doesn't exist."""
    fields = status(pid)
    return len(fields["NSpid"].split()) - 1 if fields else 0


def inside(pid, tid=None, level=-1):
    """Returns the pid of a process or thread in its own pid namespace, or at a level. None if it doesn't exist."""
    fields = status(pid, tid)
    return int(fields["NSpid"].split()[level]) if fields else None


def pids():
    """Returns all processes of the namespace, with init and zombies."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def text(path):
    """Returns the content of a /proc file; None if the process doesn't exist."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None


def status(pid, tid=None):
    """Returns /proc/PID/status as a dictionary; None if the process doesn't exist."""
    content = text(f"/proc/{pid}/task/{tid}/status" if tid else f"/proc/{pid}/status")
    if content is None:
        return None
    fields = (line.split(":", 1) for line in content.splitlines() if ":" in line)
    return {name: value.strip() for name, value in fields}


def threads(pid):
    """Returns the thread ids of a process."""
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return []


def tree(root):
    """Returns a process and its descendants, parents first."""
    children = {}
    for pid in pids():
        fields = status(pid)
        if fields:
            children.setdefault(int(fields["PPid"]), []).append(pid)
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found
