# SPDX-License-Identifier: GPL-2.0-only
"""Kills a process at one of its system calls. A kill at a random time seldom hits a window of a few microseconds."""

import ctypes
import errno
import json
import os
import signal
import struct
import time

from . import processes

PTRACE_CONT = 7
PTRACE_SYSCALL = 24
PTRACE_SEIZE = 0x4206
PTRACE_SETOPTIONS = 0x4200
PTRACE_LISTEN = 0x4208
PTRACE_GET_SYSCALL_INFO = 0x420E
PTRACE_DETACH = 17
PTRACE_CALLS = (101, 117)  # numbers of ptrace(2) on x86-64 and on aarch64
TRACESYSGOOD = 1
TRACEFORK = 2
EVENT_STOP = 128
WALL = 0x40000000
STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


def stop_self():
    """Stops the calling process before it executes criu, so that a tracer can seize it."""
    os.kill(os.getpid(), signal.SIGSTOP)


class KillPoint:
    """Moment of a kill: the stop `stops` after the traced process has entered its release number `release` or its resume
    number `resume`, or after the begin of the trace if both are 0. A release is a ptrace(2) call that detaches a thread or
    changes its options. A resume is one that lets a thread make a system call or run."""

    def __init__(self, stops, release=0, resume=0):
        self.stops = stops
        self.release = release
        self.resume = resume

    def __str__(self):
        return f"stop {self.stops} after " + (f"resume {self.resume}" if self.resume else f"release {self.release}")


class Counts:
    """Numbers of stops, releases and resumes of a traced process."""

    def __init__(self, stops=0, releases=0, resumes=0):
        self.stops = stops
        self.releases = releases
        self.resumes = resumes

    def draw(self, source):
        """Draws a KillPoint, near a release, near a resume, or anywhere: criu changes running threads in these calls."""
        near = source.choice([what for what in ("release", "resume", None) if what is None or getattr(self, what + "s")])
        if near:
            return KillPoint(source.randint(1, 16), **{near: source.randint(1, getattr(self, near + "s"))})
        return KillPoint(source.randint(1, self.stops))


class CallKill:
    """Tracer of a process that stop_self() has stopped. It counts the stops of the process' first thread at entries and exits
    of system calls, and calls `kill` at `point`, or never if this is None.

    follows: the tracer counts the calls of the process' first child instead, as criu dump does its work in a child.
    """

    def __init__(self, init, pid, point, kill, follows=False):
        self.init = init
        self.pid = pid
        here, there = os.pipe()
        self.tracer = os.fork()
        if self.tracer == 0:
            code = 1
            try:
                os.close(here)
                counted = _Tracing(pid, point, kill, follows).run()
                os.write(there, json.dumps(counted).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(there)
        self.result = here

    def finish(self, seconds):
        """Waits for the end of the traced process. Returns its Counts and exit code."""
        code = self.init.wait(self.pid, seconds, "the end of a traced criu").code
        if self.init.wait(self.tracer, seconds, "the end of the tracer").code != 0:
            raise OSError(0, "the tracer of criu failed")
        counts = Counts(*json.loads(os.read(self.result, 64)))
        os.close(self.result)
        return counts, code


class _Tracing:
    """The code of the tracer."""

    def __init__(self, pid, point, kill, follows):
        self.ptrace_call = ctypes.CDLL(None, use_errno=True).ptrace
        self.ptrace_call.argtypes = [ctypes.c_long] * 4
        self.ptrace_call.restype = ctypes.c_long
        self.info = ctypes.create_string_buffer(88)  # struct ptrace_syscall_info
        self.first = pid
        self.counted = pid
        self.point = point
        self.kill = kill
        self.follows = follows
        self.counts = Counts()
        self.since = 0  # stops since the release or resume of the kill point

    def run(self):
        """Traces the process to its end. Returns the numbers of Counts."""
        while (processes.status(self.first) or {}).get("State", "X")[0] not in "TX":
            time.sleep(0.0005)
        self._ptrace(PTRACE_SEIZE, self.first, TRACESYSGOOD | (TRACEFORK if self.follows else 0))
        os.kill(self.first, signal.SIGCONT)
        while True:
            try:
                pid, status = os.waitpid(-1, WALL)
            except ChildProcessError:
                return self.counts.stops, self.counts.releases, self.counts.resumes
            if os.WIFSTOPPED(status):
                self._resume(pid, status)

    def _resume(self, pid, status):
        number, event = os.WSTOPSIG(status), status >> 16
        passed, request = 0, PTRACE_SYSCALL
        if event == EVENT_STOP:
            if number in STOPS and self.counts.stops:
                request = PTRACE_LISTEN
            if pid != self.first and self.counted == self.first:
                self.counted = pid
                self.counts = Counts()
                self.since = 0
                self._ptrace(PTRACE_SETOPTIONS, pid, TRACESYSGOOD)
        elif number == signal.SIGTRAP | 0x80:
            if pid == self.counted and (not self.follows or pid != self.first):
                self._count(pid)
        elif event == 0:
            passed = number
        self._ptrace(request, pid, passed)

    def _count(self, pid):
        self.counts.stops += 1
        request = self._request(pid)
        self.counts.releases += request in (PTRACE_DETACH, PTRACE_SETOPTIONS)
        self.counts.resumes += request in (PTRACE_CONT, PTRACE_SYSCALL)
        if self.point and self.counts.releases >= self.point.release and self.counts.resumes >= self.point.resume:
            self.since += 1
            if self.since == self.point.stops:
                self.kill()

    def _request(self, pid):
        """Returns the request of the ptrace(2) call that the process enters; None for other stops."""
        self.ptrace_call(PTRACE_GET_SYSCALL_INFO, pid, len(self.info), ctypes.addressof(self.info))
        entry, call, request = self.info.raw[0], *struct.unpack_from("<QQ", self.info.raw, 24)
        return request if entry == 1 and call in PTRACE_CALLS else None

    def _ptrace(self, request, pid, data):
        if self.ptrace_call(request, pid, 0, data) < 0 and ctypes.get_errno() != errno.ESRCH:  # ESRCH: it was killed
            raise OSError(ctypes.get_errno(), f"ptrace request {request} of {pid}")
