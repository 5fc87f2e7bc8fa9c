# SPDX-License-Identifier: GPL-2.0-only
"""Runs a piece of a test as init of its own pid, mount and IPC namespaces.

There every pid and every terminal of a dumped tree is free again, criu is in the same namespaces as the tree, and
ending init ends everything the test has started. The caller's script is started again with INSIDE and a file that says what to do.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys

INSIDE = "--inside-namespace"
MNT_DETACH = 2


class Died(Exception):
    """Init ended without an answer, or did not end in time."""


def run(script, work, task, timeout, network=False, compiled=None):
    """Runs `script INSIDE FILE` in new namespaces; returns what its answer() got. `work` holds task and answer.

    `network`: in a network of its own, too, which has only a loopback device. `compiled`: a folder where Python keeps the
    modules that it has compiled, for the next runs; without one they are compiled each time, which nobody sees in the tree."""
    request = os.path.join(work, "task.json")
    with open(request, "w", encoding="utf-8") as file:
        json.dump(task, file)
    command = ["unshare", "--pid", "--mount", "--ipc", "--fork", "--kill-child=SIGKILL", "--mount-proc",
               sys.executable, *(["-X", f"pycache_prefix={compiled}"] if compiled else ["-B"]), os.path.abspath(script), INSIDE,
               request]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if network:
        command.insert(1, "--net")
    with open(os.path.join(work, "init.log"), "wb") as log:
        init = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        try:
            code = init.wait(timeout)
        except BaseException as error:
            # The kernel ends init when unshare dies, and with init the whole namespace.
            init.kill()
            init.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Died(f"no end after {timeout:.0f} s, see {log.name}") from None
            raise
    try:
        with open(request + ".answer", encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise Died(f"the runner's inner half ended with {code}, see {log.name}") from None


def request():
    """The task that run() gave, inside; None outside."""
    if len(sys.argv) == 3 and sys.argv[1] == INSIDE:
        # An interrupt is for the outer half, which ends us.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        mount_own_devices(sys.argv[2])
        with open(sys.argv[2], encoding="utf-8") as file:
            return json.load(file)
    return None


def mount_own_devices(task):
    """Numbers of pseudoterminals are to be as free again after a dump as pids are, and /dev/shm is to hold nothing of the
    machine's, which could be large, full, changing or out of reach: unless the caller works there, as benchmarks do, which want
    images in memory. What was mounted there leaves this namespace: covered, it would be dumped with trees that have a copy of it. No program is run for it: the first pid is the test's."""
    libc = ctypes.CDLL(None, use_errno=True)
    for kind, where, options in ((b"devpts", b"/dev/pts", b"newinstance,mode=620,ptmxmode=666"),
                                 (b"tmpfs", b"/dev/shm", b"mode=1777")):
        if os.path.realpath(task).startswith(where.decode() + "/"):
            continue
        while libc.umount2(where, MNT_DETACH) == 0:
            pass  # of several that cover each other
        if os.path.isdir(where) and libc.mount(kind, where, kind, 0, options) != 0:
            raise OSError(ctypes.get_errno(), f"mount {where.decode()}")


def bring_up_loopback():
    """Switches on the loopback device of this network."""
    siocgifflags, siocsifflags, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name, flags = struct.unpack("16sH", fcntl.ioctl(any_socket, siocgifflags, struct.pack("16sH14x", b"lo", 0))[:18])
        fcntl.ioctl(any_socket, siocsifflags, struct.pack("16sH14x", name, flags | up))


def answer(value):
    """Gives run() its result."""
    path = sys.argv[2] + ".answer"
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.rename(path + ".new", path)
